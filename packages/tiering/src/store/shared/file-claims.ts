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

/** What claims of files need from their store. */
export interface FileClaimsParts {
  readonly store: TierStore;
  readonly writer: IndexWriter;
  readonly lease: Lease;
  readonly checksum: Checksum;
  /** The dataset whose objects are placed, and its number in the index. */
  readonly dataset: string;
  readonly datasetNumber: number;
  /** Takes room of the lease. If it is not there, returns what `TierStore.claim` returns. */
  readonly take: (bytes: number) => true | 'later' | undefined;
  /** Deletes a file that nobody is told of, and records that. */
  readonly deleteFile: (name: string, ref: CopyRef) => Promise<void>;
}

/** A claim, and whether the index has recorded it. */
interface Recorded {
  readonly row: ClaimRow;
  readonly isRecorded: Promise<boolean>;
}

/** Copies on their way to a tier that get a file of their own. */
export class FileClaims {
  readonly #parts: FileClaimsParts;

  constructor(parts: FileClaimsParts) {
    this.#parts = parts;
  }

  /** As `TierStore.claim`. */
  claim({ key, version, size, chunkBytes }: Candidate, bytes: number): Claim | 'later' | undefined {
    const { store, writer, lease, datasetNumber: dataset, take } = this.#parts;
    const { driver } = store.tier;
    const tag = newTag();
    const name = copyName(key, tag);
    const occupied = lease.occupied(bytes);
    const isTaken = take(occupied + lease.directories(key));
    if (isTaken !== true) return isTaken;
    const row = { key, dataset, tag, version, size, bytes, occupied };
    // Until the claim is recorded, what is written of the copy fills the disk, and its file is open. That is
    // worth a transaction.
    const isRecorded = writer.claim(row);
    if (bytes > chunkBytes) writer.write();
    const claimed = { row, isRecorded };
    // Awaited when the copy is published.
    claimed.isRecorded.catch(() => undefined);
    return {
      store,
      name,
      bytes,
      write: (data, content, options) =>
        this.#moveIn(claimed, content, options, () =>
          driver.write(name, data, { size: bytes, signal: options.signal }),
        ),
      create: (options) => driver.create(name, { size: bytes, ...options }),
      readInto: (target, options) => driver.readInto(name, target, options),
      publish: (file, content, options) =>
        this.#moveIn(claimed, content, options, () => file.publish({ signal: options.signal })),
      release: () => this.#release(claimed, name),
    };
  }

  async #moveIn(
    { row, isRecorded }: Recorded,
    content: CopyContent,
    { turn, signal }: PublishOptions,
    move: () => Promise<void>,
  ): Promise<Copy> {
    const { store } = this.#parts;
    if (!(await raceAbort(isRecorded, signal)))
      throw (await store.isCurrent()) ? takenError(store.tier, row.key) : takenForDeadError(store.tier);
    if (!store.current) throw notCurrentError(store.tier);
    return turn(async () => {
      await move();
      // In the same turn: if the storage is full, everything that is there and not recorded is lost.
      const copy = await this.#placed(row, content);
      // An index that was begun meanwhile may have been completed before the file was there. The record looks
      // which index is there. The caller that gets this error removes the file.
      if (!store.current) throw notCurrentError(store.tier);
      return copy;
    });
  }

  async #placed(row: ClaimRow, content: CopyContent): Promise<Copy> {
    const { store, writer, checksum, dataset } = this.#parts;
    const chunk = content.chunkBytes;
    const sums = packSums({ ...row, chunk }, content.sums, checksum);
    if (!(await writer.placed({ ...row, chunk, sums }))) throw takenForDeadError(store.tier);
    const { key, version, bytes, tag } = row;
    const placed: CopyRow = { ...row, chunk, sums, member: undefined, seq: 0 };
    return { name: copyName(key, tag), tag, key, version, bytes, content, dataset, row: placed };
  }

  async #release({ row, isRecorded }: Recorded, name: string): Promise<void> {
    const { store, deleteFile } = this.#parts;
    if (await isRecorded.catch(() => false)) {
      // Also if others took this process for dead: nobody else would find what it published after they
      // cleared up.
      if (!(await store.isCurrent())) await store.tier.driver.delete(name, {});
      // If this fails, the caller tries again.
      else await deleteFile(name, row);
    }
  }
}
