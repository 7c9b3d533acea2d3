import type { OperationOptions, StorageDriver } from '@tiered/core';
import type { ObjectWriter, ReadIntoOptions } from '@tiered/core/driver';
import { copyName, newTag, raceAbort, type Checksum } from '@tiered/core/internal';
import { notCurrentError, takenError, takenForDeadError } from '../../tier/errors.js';
import { packSums } from '../../index/copy-record.js';
import type { ClaimRow, CopyRef, CopyRow } from '../../tier/copy-rows.js';
import type { IndexWriter } from '../../index/index-writer.js';
import type { Lease } from './lease.js';
import type {
  Candidate,
  Claim,
  Copy,
  CopyContent,
  PublishOptions,
  TierStore,
} from '../../tier/tier-store.js';

/** Dependencies of `FileClaims`. */
export interface FileClaimsParts {
  readonly store: TierStore;
  readonly writer: IndexWriter;
  readonly lease: Lease;
  readonly checksum: Checksum;
  /** The dataset whose objects are placed, and its number in the index. */
  readonly dataset: string;
  readonly datasetNumber: number;
  /** Takes room from the lease. If there is too little, returns the same as `TierStore.claim`. */
  readonly take: (bytes: number) => true | 'later' | undefined;
  /** Deletes a file that is not in service, and records that. */
  readonly deleteFile: (name: string, ref: CopyRef) => Promise<void>;
}

/** Makes claims for copies that get a file of their own. */
export class FileClaims {
  readonly #parts: FileClaimsParts;

  constructor(parts: FileClaimsParts) {
    this.#parts = parts;
  }

  /** As `TierStore.claim`. */
  claim({ key, version, size, chunkBytes }: Candidate, bytes: number): Claim | 'later' | undefined {
    const { writer, lease, datasetNumber: dataset, take } = this.#parts;
    const tag = newTag();
    const occupied = lease.occupied(bytes);
    const isTaken = take(occupied + lease.directories(key));
    if (isTaken !== true) return isTaken;
    const row = { key, dataset, tag, version, size, bytes, occupied };
    // Until the claim is recorded, the written part of the copy fills the disk, and its file is open. That is
    // worth a transaction.
    const isRecorded = writer.claim(row);
    if (bytes > chunkBytes) writer.write();
    // Awaited when the copy is published.
    isRecorded.catch(() => undefined);
    return new FileClaim(this.#parts, row, isRecorded);
  }
}

/** A copy in flight to a file of its own. */
class FileClaim implements Claim {
  readonly name: string;
  readonly #parts: FileClaimsParts;
  readonly #row: ClaimRow;
  readonly #isRecorded: Promise<boolean>;

  /** @param isRecorded Whether the index has recorded the claim. */
  constructor(parts: FileClaimsParts, row: ClaimRow, isRecorded: Promise<boolean>) {
    this.name = copyName(row.key, row.tag);
    this.#parts = parts;
    this.#row = row;
    this.#isRecorded = isRecorded;
  }

  get store(): TierStore {
    return this.#parts.store;
  }

  get bytes(): number {
    return this.#row.bytes;
  }

  write(data: Uint8Array, content: CopyContent, options: PublishOptions): Promise<Copy> {
    const { bytes: size } = this;
    return this.#moveIn(content, options, () =>
      this.#driver.write(this.name, data, { size, signal: options.signal }),
    );
  }

  create(options: OperationOptions): Promise<ObjectWriter> {
    return this.#driver.create(this.name, { size: this.bytes, ...options });
  }

  readInto(target: Uint8Array, options: ReadIntoOptions): Promise<number> {
    return this.#driver.readInto(this.name, target, options);
  }

  publish(file: ObjectWriter, content: CopyContent, options: PublishOptions): Promise<Copy> {
    return this.#moveIn(content, options, () => file.publish({ signal: options.signal }));
  }

  async release(): Promise<void> {
    const { store, deleteFile } = this.#parts;
    if (!(await this.#isRecorded.catch(() => false))) return;
    // Also if others took this process for dead: no one else would find a copy that it published after they
    // cleaned up.
    if (!(await store.isCurrent())) await this.#driver.delete(this.name, {});
    // If this fails, the caller retries.
    else await deleteFile(this.name, this.#row);
  }

  async #moveIn(
    content: CopyContent,
    { turn, signal }: PublishOptions,
    move: () => Promise<void>,
  ): Promise<Copy> {
    const { store } = this.#parts;
    if (!(await raceAbort(this.#isRecorded, signal)))
      throw (await store.isCurrent()) ? takenError(store.tier, this.#row.key) : takenForDeadError(store.tier);
    if (!store.current) throw notCurrentError(store.tier);
    return turn(async () => {
      await move();
      // In the same turn: if the storage is full, all unrecorded files are lost.
      const copy = await this.#placed(content);
      // A new index may have been completed meanwhile, before the file was there. Recording checks which
      // index is there. The caller that gets this error removes the file.
      if (!store.current) throw notCurrentError(store.tier);
      return copy;
    });
  }

  async #placed(content: CopyContent): Promise<Copy> {
    const { store, writer, checksum, dataset } = this.#parts;
    const row = this.#row;
    const chunk = content.chunkBytes;
    const sums = packSums({ ...row, chunk }, content.sums, checksum);
    if (!(await writer.placed({ ...row, chunk, sums }))) throw takenForDeadError(store.tier);
    const { key, version, bytes, tag } = row;
    const placed: CopyRow = { ...row, chunk, sums, member: undefined, seq: 0 };
    return { name: this.name, tag, key, version, bytes, content, dataset, row: placed };
  }

  get #driver(): StorageDriver {
    return this.store.tier.driver;
  }
}
