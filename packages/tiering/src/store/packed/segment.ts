import type { Clock } from '@tiered/core';
import type { IndexHome } from '@tiered/core/driver';
import {
  copyName,
  newSegment,
  offsetInFile,
  packedTag,
  SEGMENT_UNIT,
  segmentName,
  type Checksum,
} from '@tiered/core/internal';
import { SEGMENT } from '../../index/thread/schema.js';
import { notCurrentError, takenError, takenForDeadError } from '../../tier/errors.js';
import { packSums } from '../../index/copy-record.js';
import type { ClaimRow, PackedRow } from '../../tier/copy-rows.js';
import type { IndexWriter } from '../../index/index-writer.js';
import type { Lease } from '../shared/lease.js';
import type { Candidate, Copy, CopyContent, TierStore } from '../../tier/tier-store.js';

/** A copy to write together with others. */
export interface PackedCopy {
  readonly object: Candidate;
  readonly data: Uint8Array;
  readonly content: CopyContent;
  /** The copy's tag in its old segment, if it is moved. */
  readonly from?: number | undefined;
  /** Bytes of the lease that belong to the copy's claim, and to its segment once that is written. */
  readonly room: number;
  readonly resolve: (copy: Copy) => void;
  readonly reject: (error: unknown) => void;
  /** Set with the tag when the copy is written. */
  segment?: Segment;
  tag?: number;
  /** True if it is unknown whether the copy was recorded. */
  isDoubtful?: boolean;
}

/** Dependencies of `Segment`. */
export interface SegmentParts {
  readonly store: TierStore;
  readonly home: IndexHome;
  readonly writer: IndexWriter;
  readonly lease: Lease;
  readonly checksum: Checksum;
  readonly clock: Clock;
  /** The dataset whose objects are placed, and its number in the index. */
  readonly dataset: string;
  readonly datasetNumber: number;
}

/**
 * A smaller copy is joined with its neighbours. A separate part would cost the write more than copying the
 * bytes.
 */
const LEAST_PART_BYTES = 2 ** 14;

/** Padding between two copies. */
const ZEROS = new Uint8Array(SEGMENT_UNIT);

/** Copies that are recorded in one turn of the event loop: each takes some microseconds. */
const RECORDS_A_TURN = 256;

/** A file with many copies, in flight to a tier; see `Packing`. */
export class Segment {
  readonly #parts: SegmentParts;
  readonly #copies: readonly PackedCopy[];
  readonly #row: ClaimRow;
  readonly #name: string;
  /** Whether any copy was recorded in it. */
  #holds = false;
  /** Whether there is nothing left to do for the segment. True until it is claimed. */
  #isEnded = true;
  #ending: Promise<void> | undefined;
  /** Resolves once it is known for each copy whether the segment holds it. */
  readonly done: Promise<void>;

  /** Begins to write the segment. */
  constructor(parts: SegmentParts, copies: readonly PackedCopy[]) {
    this.#parts = parts;
    // In index order, so that neighbouring rows are changed together.
    this.#copies = [...copies].sort((a, b) => (a.object.key < b.object.key ? -1 : 1));
    const number = newSegment();
    this.#name = segmentName(number);
    let bytes = 0;
    for (const copy of this.#copies) {
      const offset = aligned(bytes);
      copy.segment = this;
      copy.tag = packedTag(number, offset);
      bytes = offset + copy.data.byteLength;
    }
    const { key, dataset } = SEGMENT;
    const occupied = parts.lease.occupied(bytes);
    this.#row = { key, dataset, tag: number, version: String(number), size: bytes, bytes, occupied };
    this.done = this.#write();
  }

  /** The present or future place of a copy. */
  placeOf({ tag }: PackedCopy): { readonly file: string; readonly base: number } {
    return { file: this.#name, base: offsetInFile(tag) };
  }

  /**
   * Seals the segment, so that it gets no more copies. Deletes it if it holds none. Idempotent; must be
   * called again after a failure. For a process that is gone, others do this.
   */
  end(): Promise<void> {
    if (this.#isEnded) return Promise.resolve();
    return (this.#ending ??= this.#end().finally(() => (this.#ending = undefined)));
  }

  /** Removes all traces of a copy that could not be placed. Must be called again after a failure. */
  async release(copy: PackedCopy): Promise<void> {
    const { store, writer } = this.#parts;
    await this.done;
    const row = this.#rowOf(copy);
    if (copy.isDoubtful === true && (await store.isCurrent())) {
      await writer.leaving(row);
      await writer.gone(row);
      copy.isDoubtful = false;
    }
    await this.end();
  }

  async #write(): Promise<void> {
    try {
      await this.#publish();
    } catch (error) {
      for (const { reject } of this.#copies) reject(error);
      return;
    }
    const recorded: Promise<void>[] = [];
    for (let at = 0; at < this.#copies.length; at += RECORDS_A_TURN) {
      if (at > 0) await this.#parts.clock.turn();
      for (const copy of this.#copies.slice(at, at + RECORDS_A_TURN)) recorded.push(this.#record(copy));
    }
    await Promise.all(recorded);
  }

  /** Claims the segment, and moves its file in. */
  async #publish(): Promise<void> {
    const { store } = this.#parts;
    if (!(await this.#claim())) throw takenForDeadError(store.tier);
    this.#isEnded = false;
    if (!(await store.isCurrent())) throw notCurrentError(store.tier);
    await store.tier.driver.write(this.#name, this.#content(), { size: this.#row.bytes });
    // A new index may have been completed meanwhile, before the file was there. Then `end` removes the file.
    if (!(await store.isCurrent())) throw notCurrentError(store.tier);
  }

  /** Claims the bytes of the segment, and gives back what its copies had claimed beyond them. */
  async #claim(): Promise<boolean> {
    const { writer, lease } = this.#parts;
    const room = this.#copies.reduce((sum, copy) => sum + copy.room, 0);
    try {
      const claimed = writer.claim(this.#row);
      // Many copies wait for the claim.
      writer.write();
      return await claimed;
    } finally {
      lease.giveBack(room - this.#row.occupied);
    }
  }

  /** The contents of the file, in parts. */
  #content(): Uint8Array[] {
    const content: Uint8Array[] = [];
    let at = 0;
    let small: Uint8Array[] = [];
    const join = () => {
      if (small.length > 0) content.push(Buffer.concat(small));
      small = [];
    };
    for (const { data, tag } of this.#copies) {
      const gap = offsetInFile(tag) - at;
      at += gap + data.byteLength;
      if (gap > 0) small.push(ZEROS.subarray(0, gap));
      if (data.byteLength < LEAST_PART_BYTES) small.push(data);
      else {
        join();
        content.push(data);
      }
    }
    join();
    return content;
  }

  async #record(copy: PackedCopy): Promise<void> {
    const { store, writer, dataset } = this.#parts;
    const { object, content, from, resolve, reject } = copy;
    const row = this.#rowOf(copy);
    try {
      if (!(await (from === undefined ? writer.packed(row) : writer.moved({ ...row, from })))) {
        reject(
          (await store.isCurrent()) ? takenError(store.tier, object.key) : takenForDeadError(store.tier),
        );
        return;
      }
      this.#holds = true;
      const { key, tag, version, bytes } = row;
      const placed = { ...row, occupied: 0, member: undefined, seq: 0 };
      resolve({ name: copyName(key, tag), tag, key, version, bytes, content, dataset, row: placed });
    } catch (error) {
      copy.isDoubtful = true;
      reject(error);
    }
  }

  async #end(): Promise<void> {
    const { store, writer, home } = this.#parts;
    const { driver } = store.tier;
    const isHeld = (await store.isCurrent()) && (await writer.sealed(this.#row));
    if (!isHeld && (await store.isCurrent())) {
      await driver.delete(this.#name, {});
      await home.forget(this.#name);
      await writer.gone(this.#row);
    } else if (!isHeld && !this.#holds) {
      // Others clean up what the index knows. If they did so before the file moved in, no other process would
      // find the file.
      await driver.delete(this.#name, {});
    }
    this.#isEnded = true;
  }

  #rowOf({ object: { key, version, size }, content, data, tag = 0 }: PackedCopy): PackedRow {
    const { checksum, datasetNumber: dataset } = this.#parts;
    const bytes = data.byteLength;
    const chunk = content.chunkBytes;
    const sums = packSums({ key, version, size, bytes, chunk }, content.sums, checksum);
    return { key, dataset, tag, version, size, bytes, chunk, sums };
  }
}

/** Bytes that a copy takes in a segment. */
export function aligned(bytes: number): number {
  return Math.ceil(bytes / SEGMENT_UNIT) * SEGMENT_UNIT;
}
