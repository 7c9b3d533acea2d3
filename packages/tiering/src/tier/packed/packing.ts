import { invariant, onAbort, SEGMENT_BYTES } from '@tiered/core/internal';
import type { Haste } from '../../fill/haste.js';
import { notCurrentError } from '../errors.js';
import { once } from '../quota.js';
import { aligned, Segment, type PackedCopy, type SegmentParts } from './segment.js';
import type { Candidate, Claim, Copy, RewrittenCopy } from '../tier-store.js';

/**
 * Copies of more bytes have files of their own: of those, opening one costs little beside reading it. The processor's time for a read of a
 * file is 4 times that of a packed copy at 10 KB, 3.2 times at 64 KB, 2.3 times at 100 KB and 1.7 times at 200 KB.
 */
const LARGEST = 256 * 1024;
/** Segments are not larger than this part of the quota: where copies leave, a segment is what leaves at once. */
const SHARE = 16;
/** Nothing new came for so long, in milliseconds: what is gathered is written. */
const MOMENT_MS = 200;
/** Segments that are being written at the same time: while one waits for the disk, the other is recorded. */
const WRITES = 2;

/** Bytes of a segment at most, unless a single copy has more. */
function mostBytes(quotaBytes: number): number {
  return Math.min(SEGMENT_BYTES, Math.floor(quotaBytes / SHARE));
}

/** Bytes of a packed tier that are kept for copies that are moved out of a segment: at most half of one are. */
export function rewritingRoom(quotaBytes: number): number {
  return Math.floor(mostBytes(quotaBytes) / 2);
}

const ENDED = new Error('what was gathered is being written');

/** What packing needs of its store. */
export interface PackingParts extends SegmentParts {
  readonly haste: Haste;
  /** Aborts when everything is about to end. */
  readonly closing: AbortSignal;
}

/** Copies that are to be written together. */
interface Gathering {
  readonly copies: PackedCopy[];
  bytes: number;
  /** Ends the waiting for more. */
  readonly full: AbortController;
}

/**
 * Small copies of a tier with the layout `packed`: gathered in memory, and written together, as a file that never changes.
 *
 * **Problem.** To read a file of 10 KB costs several times what its bytes cost, and to make one even more: it is created, moved in, and
 * recorded twice. Many files also fill a disk with the ends of blocks.
 *
 * **How.** A *segment* is a file of up to 4 MiB that holds many copies. It is written whole and published by rename, as each copy of its own
 * is, and never written to again. Where a copy is, its tag says (`packed-tag.ts` of core), so that to read it is to read a range of a
 * file that is mostly open. What is gathered is written when a segment is full, when nothing came for a moment, and at once when somebody
 * waits for it (`Haste`); what comes meanwhile goes together with the next one.
 *
 * **Invariants.** The rules of order are those of files: the segment is claimed in the index, then its file moves in, then its copies
 * are recorded, each as placed, and when all are, so is the segment. So a claimed segment with copies has its whole file, and
 * whoever finds one of a process that is gone keeps it; one without copies is deleted, whether its file is there or not. Records of
 * a segment come in as many transactions as the log has room for. Each claim holds the blocks that a file of its own would take, and a segment takes no more
 * than its copies' claims; what it takes less is given back once it is claimed. A copy that is removed leaves the index as
 * others do, and its bytes are free when the last row of its segment is gone: nobody has anything of it open then, and it leaves as a
 * file does. Until then the whole segment counts.
 */
export class Packing {
  readonly #parts: PackingParts;
  /** Segments that are being written, until they have ended. */
  readonly #underWay = new Set<Promise<void>>();
  /** Segments that could not be sealed, or deleted, and nobody else tries to. */
  readonly #again = new Set<Segment>();
  readonly #stopListening: () => void;
  readonly #full: Gathering[] = [];
  #open: Gathering | undefined;
  #claims = 0;
  #isClosed = false;

  constructor(parts: PackingParts) {
    this.#parts = parts;
    const notHasty = parts.haste.on(() => this.#hurry());
    const notClosing = onAbort(parts.closing, () => this.#hurry());
    this.#stopListening = () => {
      notHasty();
      notClosing();
    };
  }

  /** Segments that are being written, or sealed. */
  get underWay(): readonly Promise<void>[] {
    return [...this.#underWay];
  }

  /** What a copy of so many bytes takes of the lease; undefined if it is to have a file of its own. */
  roomFor({ size, chunkBytes }: Candidate, bytes: number): number | undefined {
    const isPart = bytes < size || bytes > chunkBytes;
    if (bytes === 0 || bytes > LARGEST || isPart) return undefined;
    return this.#parts.lease.occupied(aligned(bytes));
  }

  /** A claim of a copy whose room was taken of the lease. */
  claim(object: Candidate, bytes: number, room: number): Claim {
    const { store, lease } = this.#parts;
    const { driver } = store.tier;
    this.#claims += 1;
    let packed: PackedCopy | undefined;
    const giveBack = once(() => lease.giveBack(room));
    return {
      store,
      // Unlike that of any file.
      name: `%packing/${this.#claims}`,
      bytes,
      gathers: true,
      write: (data, content) =>
        new Promise<Copy>((resolve, reject) => {
          packed = { object, data, content, room, resolve, reject };
          this.#add(packed);
        }),
      create: inParts,
      publish: inParts,
      readInto: async (target, { offset, signal }) => {
        const { file, base } = packed?.segment?.placeOf(packed) ?? { file: '', base: 0 };
        return driver.readInto(file, target, { offset: base + offset, signal });
      },
      release: async () => {
        if (packed === undefined) giveBack();
        else await packed.segment?.release(packed);
      },
    };
  }

  /** What copies take in a segment of their own. */
  roomForAll(copies: readonly RewrittenCopy[]): number {
    return this.#parts.lease.occupied(copies.reduce((sum, { data }) => sum + aligned(data.byteLength), 0));
  }

  /** Writes copies together that are in other segments, into room that was taken of the lease. See `TierStore.rewrite`. */
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

  /** Tries again what failed at the end of segments. Never rejects. */
  async tryAgain(): Promise<void> {
    for (const segment of [...this.#again]) await this.#end(segment);
  }

  /** Writes nothing that was not begun, and waits for what was. */
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

  /** Writes what was gathered when nothing new has come for a moment. */
  async #untilQuiet(gathering: Gathering): Promise<void> {
    const { signal } = gathering.full;
    try {
      for (let seen = -1; seen !== gathering.copies.length;) {
        seen = gathering.copies.length;
        await this.#parts.clock.sleep(MOMENT_MS, signal, { background: true });
      }
    } catch {
      return;
    }
    this.#fill(gathering);
  }

  /** What is gathered goes at once, unless something is being written: then with what comes until that has ended. */
  #hurry(): void {
    const { haste, closing } = this.#parts;
    if (this.#open === undefined || this.#underWay.size > 0) return;
    if (haste.is || closing.aborted) this.#fill(this.#open);
  }

  /** Nothing more is gathered with this. */
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

  /** Nothing was written of these. */
  #refuse(copies: readonly PackedCopy[]): void {
    const { lease, store } = this.#parts;
    for (const { room, reject } of copies) {
      lease.giveBack(room);
      reject(notCurrentError(store.tier));
    }
  }
}

/** What is packed is of one chunk. */
async function inParts(): Promise<never> {
  invariant(false, 'a copy that is packed is written in parts');
}
