import { onAbort, SEGMENT_BYTES } from '@tiered/core/internal';
import type { FlushUrgency } from '../../memory/flush-urgency.js';
import { notCurrentError } from '../../tier/errors.js';
import { PackedClaim } from './packed-claim.js';
import type { FetchTurns } from '../../tier/fetch-turns.js';
import { aligned, Segment, type PackedCopy, type SegmentParts } from './segment.js';
import type { Candidate, Claim, Copy, RewrittenCopy } from '../../tier/tier-store.js';

/**
 * Larger copies get files of their own: creating and opening such a file costs little compared to its bytes.
 * Reading a file takes 1.9 times the processor time of reading a packed copy at 10 KB, 1.7 times at 64 KB,
 * 1.3 times at 100 KB and 1.2 times at 200 KB.
 */
const LARGEST = 256 * 1024;
/** The quota divided by this bounds a segment, because a segment is evicted as a whole. */
const SHARE = 16;
/** Milliseconds without a new copy after which the gathered copies are written. */
const MOMENT_MS = 200;
/** Milliseconds between checks for another process that waits for a copy, in a shared tier. */
const LOOK_MS = 20;
/** Segments written concurrently: while one waits for the disk, another is recorded. */
const WRITES = 2;

/** Maximum bytes of a segment, unless a single copy has more. */
function mostBytes(quotaBytes: number): number {
  return Math.min(SEGMENT_BYTES, Math.floor(quotaBytes / SHARE));
}

/**
 * Bytes of a packed tier that are reserved for copies moved out of a segment, which are at most half of it.
 */
export function rewritingRoom(quotaBytes: number): number {
  return Math.floor(mostBytes(quotaBytes) / 2);
}

/** Bytes that a whole copy takes in a segment; undefined if it gets a file of its own. */
export function packedBytes(bytes: number): number | undefined {
  return bytes === 0 || bytes > LARGEST ? undefined : aligned(bytes);
}

const ENDED = new Error('what was gathered is being written');

/** Dependencies of `Packing`. */
export interface PackingParts extends SegmentParts {
  readonly urgency: FlushUrgency;
  readonly turns: Pick<FetchTurns, 'isShared' | 'isWaitedFor'>;
  /** Aborts when everything is about to end. */
  readonly closing: AbortSignal;
}

/** Copies to write together. */
interface Gathering {
  readonly copies: PackedCopy[];
  bytes: number;
  /** Ends the wait for more copies. */
  readonly full: AbortController;
}

/**
 * Packs the small copies of a tier with the layout `packed`: gathers them in memory, and writes them together
 * to an immutable file.
 *
 * **Problem.** Reading a file of 10 KB costs several times as much as its bytes alone. Making one costs even
 * more: it is created, moved in, and recorded twice. Many files also waste disk space at the ends of blocks.
 *
 * **How.** A *segment* is a file of up to 4 MiB that holds many copies. Like a copy with a file of its own,
 * it is written whole, published by rename, and never written to again. The tag of a copy encodes its place
 * (`packed-tag.ts` of core), so reading it means reading a range of a file that is usually open. The gathered
 * copies are written when a segment is full, when no copy was added for a moment, and at once if a caller
 * waits for them (`FlushUrgency`; in other processes `FetchTurns`). Copies added meanwhile go into the next
 * segment.
 *
 * **Invariants.** The order is the same as for files. The segment is claimed in the index, then its file
 * moves in, then each of its copies is recorded as placed. Once all are recorded, so is the segment. So a
 * claimed segment with copies has its whole file, and other processes keep it if its process is gone. A
 * claimed segment without copies is deleted, whether its file is there or not. The records of a segment are
 * split into as many transactions as the log requires.
 *
 * Each claim holds the blocks that a file of its own would take. A segment takes no more than its copies'
 * claims, and the difference is given back once the segment is claimed. A removed copy leaves the index like
 * any other. Its bytes are free once the last row of its segment is gone: then no process has any of the
 * segment open, and it is deleted like a file. Until then the whole segment counts.
 */
export class Packing {
  readonly #parts: PackingParts;
  /** Segments that are being written, until they are done. */
  readonly #underWay = new Set<Promise<void>>();
  /** Segments that could not be sealed or deleted, and that no other process handles. */
  readonly #again = new Set<Segment>();
  readonly #stopListening: () => void;
  readonly #full: Gathering[] = [];
  #open: Gathering | undefined;
  #claims = 0;
  #isClosed = false;
  readonly #gatherIn = (copy: PackedCopy) => this.#add(copy);

  constructor(parts: PackingParts) {
    this.#parts = parts;
    const hurry = () => this.#hurry();
    parts.urgency.on('urgent', hurry);
    const notClosing = onAbort(parts.closing, hurry);
    this.#stopListening = () => {
      parts.urgency.off('urgent', hurry);
      notClosing();
    };
  }

  /** Segments that are being written, or sealed. */
  get underWay(): readonly Promise<void>[] {
    return [...this.#underWay];
  }

  /** Bytes of the lease that a copy takes; undefined if the copy gets a file of its own. */
  roomFor({ size, chunkBytes }: Candidate, bytes: number): number | undefined {
    const isPart = bytes < size || bytes > chunkBytes;
    const packed = isPart ? undefined : packedBytes(bytes);
    return packed === undefined ? undefined : this.#parts.lease.occupied(packed);
  }

  /** Makes a claim for a copy whose room was taken from the lease. */
  claim(object: Candidate, bytes: number, room: number): Claim {
    this.#claims += 1;
    return new PackedClaim(this.#parts, object, bytes, room, this.#claims, this.#gatherIn);
  }

  /** Bytes that copies take in a new segment. */
  roomForAll(copies: readonly RewrittenCopy[]): number {
    return this.#parts.lease.occupied(copies.reduce((sum, { data }) => sum + aligned(data.byteLength), 0));
  }

  /**
   * Writes copies of other segments together, into room that was taken from the lease. See
   * `TierStore.rewrite`.
   */
  rewrite(copies: readonly RewrittenCopy[], room: number): Promise<readonly PromiseSettledResult<Copy>[]> {
    const packed: PackedCopy[] = [];
    const ends = copies.map(
      ({ copy: { key, version, tag }, content, data }, i) =>
        new Promise<Copy>((resolve, reject) => {
          const object = { key, version, size: content.size, chunkBytes: content.chunkBytes };
          packed.push({ object, data, content, from: tag, room: i === 0 ? room : 0, resolve, reject });
        }),
    );
    if (this.#isClosed) this.#refuse(packed);
    else this.#beginToWrite(packed);
    return Promise.allSettled(ends);
  }

  /** Retries ending the segments that could not be ended. Never rejects. */
  async tryAgain(): Promise<void> {
    for (const segment of [...this.#again]) await this.#end(segment);
  }

  /** Begins no more writes, and waits for those in progress. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopListening();
    this.#open?.full.abort(ENDED);
    const gathered = this.#open === undefined ? this.#full.splice(0) : [...this.#full.splice(0), this.#open];
    this.#open = undefined;
    for (const { copies } of gathered) this.#refuse(copies);
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  #add(copy: PackedCopy): void {
    if (this.#isClosed) {
      this.#refuse([copy]);
      return;
    }
    const bytes = aligned(copy.data.byteLength);
    const most = Math.max(LARGEST, mostBytes(this.#parts.store.quotaBytes));
    if (this.#open !== undefined && this.#open.bytes + bytes > most) this.#fill(this.#open);
    const open = (this.#open ??= this.#gather());
    open.copies.push(copy);
    open.bytes += bytes;
    this.#hurry();
  }

  #gather(): Gathering {
    const gathering: Gathering = { copies: [], bytes: 0, full: new AbortController() };
    void this.#untilQuiet(gathering);
    return gathering;
  }

  /** Writes the gathered copies once no new one was added for a moment, or another process waits for one. */
  async #untilQuiet(gathering: Gathering): Promise<void> {
    const { clock, turns } = this.#parts;
    const { signal } = gathering.full;
    try {
      for (let quietMs = 0; quietMs < MOMENT_MS;) {
        const seen = gathering.copies.length;
        const ms = turns.isShared ? LOOK_MS : MOMENT_MS;
        await clock.sleep(ms, signal, { background: true });
        if (turns.isWaitedFor) break;
        quietMs = gathering.copies.length === seen ? quietMs + ms : 0;
      }
    } catch {
      return;
    }
    this.#fill(gathering);
  }

  /**
   * Writes the gathered copies at once. While a segment is being written, they wait and go with copies added
   * until that has ended.
   */
  #hurry(): void {
    const { urgency, closing } = this.#parts;
    if (this.#open === undefined || this.#underWay.size > 0) return;
    if (urgency.isNeeded || closing.aborted) this.#fill(this.#open);
  }

  /** Closes a gathering to further copies. */
  #fill(gathering: Gathering): void {
    if (this.#open !== gathering) return;
    this.#open = undefined;
    gathering.full.abort(ENDED);
    this.#full.push(gathering);
    this.#next();
  }

  #next(): void {
    while (this.#underWay.size < WRITES) {
      const gathering = this.#full.shift();
      if (gathering === undefined) break;
      this.#beginToWrite(gathering.copies);
    }
    this.#hurry();
  }

  #beginToWrite(copies: readonly PackedCopy[]): void {
    const work = this.#write(copies).then(() => {
      this.#underWay.delete(work);
      this.#next();
    });
    this.#underWay.add(work);
  }

  async #write(copies: readonly PackedCopy[]): Promise<void> {
    const segment = new Segment(this.#parts, copies);
    await segment.done;
    await this.#end(segment);
  }

  async #end(segment: Segment): Promise<void> {
    this.#again.delete(segment);
    await segment.end().catch(() => this.#again.add(segment));
  }

  /** Rejects copies that were not written at all. */
  #refuse(copies: readonly PackedCopy[]): void {
    const { lease, store } = this.#parts;
    for (const { room, reject } of copies) {
      lease.giveBack(room);
      reject(notCurrentError(store.tier));
    }
  }
}
