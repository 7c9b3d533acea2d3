import type { ObjectWriter } from '@tiered/core';
import {
  invariant,
  memoryFor,
  onAbort,
  raceAbort,
  type Checksum,
  type OperationScope,
} from '@tiered/core/internal';
import type { LimitFunction } from 'p-limit';
import { allEnded } from './all-ended.js';
import type { MemoryBudget } from './memory-budget.js';
import type { SourceGate, Ticket } from './source-gate.js';
import { partOf, type SourceObject } from './source-reads.js';
import type { Claim, Copy, CopyContent } from './store/tier-store.js';

/** Where the bytes of an object come from: the source, or another tier. */
export type FillFrom = (target: Uint8Array, offset: number, signal: AbortSignal) => Promise<void>;

/** What is placed, where, and with what. */
export interface PlacingParts extends SourceObject {
  /** Bytes of the object. */
  readonly size: number;
  readonly chunkBytes: number;
  /** The bytes that the copy is to have: all of the object, or its beginning. */
  readonly claim: Claim;
  readonly fill: FillFrom;
  readonly gate: SourceGate;
  /** Writes to tiers, so many at a time. */
  readonly writes: LimitFunction;
  readonly budget: MemoryBudget;
  readonly checksum: Checksum;
  /** Chunks of this object that may be under way in the background at the same time. */
  readonly lanes: number;
  /** Runs what is read back: its readers may leave, and whoever closes the tier waits for it. */
  readonly tierReads: OperationScope;
  /** Aborts when everything ends. */
  readonly closing: AbortSignal;
}

/** How a placing failed: by the side that bytes come from, or by the tier. */
export interface PlacingFailure {
  readonly error: unknown;
  readonly side: 'source' | 'tier';
}

/** A part of a range that lies in one chunk: where it begins in the object, and where it is to go. */
interface Part {
  readonly chunk: number;
  readonly start: number;
  readonly target: Uint8Array;
}

/** A chunk that was asked for and is not yet written. */
interface Arriving {
  readonly bytes: Promise<Uint8Array>;
  readonly memory: Uint8Array;
  readonly ticket: Ticket | undefined;
  isHere: boolean;
  /** Whether somebody has the memory, or a view of it, for longer than it takes to copy from it. */
  isShown: boolean;
}

const MISSING = 0;
const ARRIVING = 1;
const WRITTEN = 2;

/**
 * One object on its way to a tier, chunk by chunk.
 *
 * **Problem.** Readers want parts of the object now, in any order; the tier wants all of it; and nobody may ask the
 * source twice for a byte.
 *
 * **Moving parts.** A chunk is *missing*, *arriving* (asked for, or here and not yet written), or *written*. Who needs
 * a missing chunk asks for it at once, ahead of everything in the background; who needs one that is arriving waits for
 * that; a written one is read back from the tier. A few *lanes* ask for what is missing, from where the last reader
 * was onwards, because readers mostly go on. Each chunk that arrived is summed, and written to the tier at its place;
 * then its memory is free. When all are written the copy is published.
 *
 * **Invariants.** A chunk is requested once, unless that failed. A reader waits for the chunks of its range and for
 * nothing else; not for the tier either, unless the bytes are only there. Memory is held for chunks that are arriving
 * and for nothing else; it serves another chunk later, unless a reader may have kept a view of it. After `done` nothing
 * is held and nothing is under way, and either the copy is published, or there is no trace of it.
 */
export class Placing {
  readonly #parts: PlacingParts;
  /** Ends the lanes; requests that are under way may have readers, and go on. */
  readonly #stop = new AbortController();
  readonly #state: Uint8Array;
  readonly #sums: BigUint64Array;
  readonly #arriving = new Map<number, Arriving>();
  readonly #work = new Set<Promise<void>>();
  #writer: Promise<ObjectWriter> | undefined;
  #publishing: Promise<void> | undefined;
  #next = 0;
  #failure: PlacingFailure | undefined;
  #copy: Copy | undefined;
  /** Resolves when it has ended, with what went wrong, if something did. */
  readonly done: Promise<PlacingFailure | undefined>;

  constructor(parts: PlacingParts) {
    this.#parts = parts;
    const stopListening = onAbort(parts.closing, (error) => this.#fail({ error, side: 'source' }));
    const chunks = Math.ceil(parts.claim.bytes / parts.chunkBytes);
    this.#state = new Uint8Array(chunks);
    this.#sums = new BigUint64Array(chunks);
    this.done = this.#run().finally(stopListening);
  }

  get version(): string {
    return this.#parts.version;
  }

  /** Bytes of the copy: all of the object, or its beginning. */
  get bytes(): number {
    return this.#parts.claim.bytes;
  }

  /**
   * Whether it can serve this range, which lies within the copy: not of another version, and nothing that would take
   * more memory while tiers are too slow to take what is there.
   */
  serves(version: string, offset: number, length: number): boolean {
    const { budget, chunkBytes } = this.#parts;
    if (this.#failure !== undefined || this.#parts.version !== version) return false;
    if (budget.hasRoom(chunkBytes)) return true;
    const asked = this.#state.subarray(
      Math.floor(offset / chunkBytes),
      Math.ceil((offset + length) / chunkBytes),
    );
    return !asked.includes(MISSING);
  }

  /** Bytes of chunks that were written. */
  get writtenBytes(): number {
    let bytes = 0;
    for (const [chunk, state] of this.#state.entries()) if (state === WRITTEN) bytes += this.#lengthOf(chunk);
    return bytes;
  }

  /** The copy, once it is published. */
  get copy(): Copy {
    invariant(this.#copy !== undefined, 'a copy was asked for that is not published');
    return this.#copy;
  }

  /** What is known of the copy once all its chunks are written. */
  get content(): CopyContent {
    const { size, chunkBytes, claim } = this.#parts;
    return { size, chunkBytes, bytes: claim.bytes, sums: [...this.#sums] };
  }

  /** The bytes of a range, as soon as they are there. An abort lets go at once; the placing goes on. */
  async read(offset: number, length: number, signal: AbortSignal | undefined): Promise<Uint8Array> {
    const { chunkBytes } = this.#parts;
    const first = Math.floor(offset / chunkBytes);
    if (offset + length <= this.#endOf(first) && this.#state[first] !== WRITTEN) {
      this.#next = first + 1;
      const part = this.#withChunk(first, true, (bytes) =>
        partOf(bytes, offset - first * chunkBytes, length),
      );
      return raceAbort(part, signal);
    }
    const result = memoryFor(length);
    const parts = this.#split(offset, result).map((part) => this.#readPart(part, undefined, true));
    await raceAbort(allEnded(parts), signal);
    return result;
  }

  /**
   * As `read`, into the caller's memory, which is the caller's again when this has settled. An abort ends it as soon as
   * nothing is written there any more.
   */
  async readInto(target: Uint8Array, offset: number, signal: AbortSignal | undefined): Promise<void> {
    await allEnded(this.#split(offset, target).map((part) => this.#readPart(part, signal, false)));
    signal?.throwIfAborted();
  }

  /** The parts of a range that lie in one chunk each. */
  #split(offset: number, target: Uint8Array): Part[] {
    const { chunkBytes } = this.#parts;
    const end = offset + target.byteLength;
    const parts: Part[] = [];
    for (let start = offset; start < end;) {
      const chunk = Math.floor(start / chunkBytes);
      const until = Math.min(end, this.#endOf(chunk));
      parts.push({ chunk, start, target: target.subarray(start - offset, until - offset) });
      start = until;
    }
    this.#next = Math.ceil(end / chunkBytes);
    return parts;
  }

  /** @param isOurs Whether nobody writes to the target later: then a chunk that is wanted whole may arrive there. */
  async #readPart(
    { chunk, start, target }: Part,
    signal: AbortSignal | undefined,
    isOurs: boolean,
  ): Promise<void> {
    if (this.#state[chunk] === WRITTEN) return this.#readBack(start, target);
    const whole = isOurs && target.byteLength === this.#lengthOf(chunk);
    const from = start - chunk * this.#parts.chunkBytes;
    const copy = (bytes: Uint8Array) => {
      if (bytes !== target && signal?.aborted !== true)
        target.set(bytes.subarray(from, from + target.byteLength));
    };
    await raceAbort(this.#withChunk(chunk, false, copy, whole ? target : undefined), signal);
  }

  /** Reads what the tier has already, of an object that it does not show yet, or has just come to show. */
  #readBack(offset: number, target: Uint8Array): Promise<void> {
    return this.#parts.tierReads.run(undefined, (signal) => this.#readBackUnder(signal, offset, target));
  }

  async #readBackUnder(signal: AbortSignal, offset: number, target: Uint8Array): Promise<void> {
    const { claim, fill } = this.#parts;
    const options = { offset, signal };
    const writer = await this.#writer;
    let count = (await writer?.readInto(target, options).catch(() => 0)) ?? 0;
    if (count !== target.byteLength && this.#publishing !== undefined) {
      await this.#publishing;
      count = await claim.readInto(target, options).catch(() => 0);
    }
    signal.throwIfAborted();
    // No tier can fail a read that the source can serve.
    if (count !== target.byteLength) await fill(target, offset, signal);
  }

  /**
   * Looks at a chunk that somebody waits for as soon as it is there.
   * @param isShown Whether the looker keeps its memory, or a view of it; else it must be done with it when it returns.
   * @param memory Where it is to arrive if nobody has asked for it yet; it stays with whoever gave it.
   */
  #withChunk<T>(
    chunk: number,
    isShown: boolean,
    look: (bytes: Uint8Array) => T,
    memory?: Uint8Array,
  ): Promise<T> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure.error);
    let arriving = this.#arriving.get(chunk);
    if (arriving !== undefined) {
      arriving.ticket?.promote();
      arriving.isShown ||= isShown;
      // Not later: its memory may be another chunk's by then.
      return arriving.isHere ? Promise.resolve(look(arriving.memory)) : arriving.bytes.then(look);
    }
    return this.#parts.gate.foreground(() => {
      arriving = this.#request(chunk, undefined, memory);
      arriving.isShown ||= isShown;
      return arriving.bytes.then(look);
    });
  }

  /** Asks for a chunk; what becomes of it afterwards is `#work`. */
  #request(chunk: number, ticket?: Ticket, given?: Uint8Array): Arriving {
    const { budget, chunkBytes, fill, checksum, closing } = this.#parts;
    this.#state[chunk] = ARRIVING;
    if (given !== undefined) budget.take(given.byteLength);
    const memory = given ?? budget.lend(this.#lengthOf(chunk));
    const bytes = fill(memory, chunk * chunkBytes, closing).then(() => {
      // Now, and not when it is written: until then its readers have it, and might write to it.
      this.#sums[chunk] = checksum.bytes(memory);
      arriving.isHere = true;
      return memory;
    });
    const arriving: Arriving = { bytes, memory, ticket, isHere: false, isShown: given !== undefined };
    this.#arriving.set(chunk, arriving);
    const work = this.#settle(chunk, bytes).finally(() => {
      this.#arriving.delete(chunk);
      // What did not come may, by a driver that breaks its contract, be on its way still.
      if (arriving.isHere && !arriving.isShown) budget.giveBack(memory);
      else budget.release(memory.byteLength);
      this.#work.delete(work);
    });
    this.#work.add(work);
    return arriving;
  }

  /** Writes a chunk once it is there. Never rejects. */
  async #settle(chunk: number, arriving: Promise<Uint8Array>): Promise<void> {
    const { writes, chunkBytes, closing } = this.#parts;
    let side: 'source' | 'tier' = 'source';
    try {
      const bytes = await arriving;
      side = 'tier';
      await writes(async () => {
        if (this.#failure !== undefined) return;
        const writer = await this.#openWriter();
        await writer.writeAt(bytes, { offset: chunk * chunkBytes, signal: closing });
        this.#state[chunk] = WRITTEN;
      });
    } catch (error) {
      this.#fail({ error, side });
    }
  }

  #openWriter(): Promise<ObjectWriter> {
    this.#writer ??= this.#parts.claim.create({ signal: this.#parts.closing });
    return this.#writer;
  }

  /** Brings everything, and publishes it. */
  async #run(): Promise<PlacingFailure | undefined> {
    // Whoever made this may want a chunk first.
    await Promise.resolve();
    const lanes = Math.min(this.#parts.lanes, this.#state.length);
    await Promise.all(Array.from({ length: lanes }, () => this.#lane()));
    while (this.#work.size > 0) await Promise.all(this.#work);
    if (this.#failure === undefined) await (this.#publishing = this.#publish());
    const writer = await this.#writer?.catch(() => undefined);
    await writer?.discard();
    // What was published is there, whatever failed or was ended meanwhile.
    return this.#copy === undefined ? this.#failure : undefined;
  }

  /** Asks for chunks that are missing, one after the other. */
  async #lane(): Promise<void> {
    const { gate, budget, chunkBytes, closing } = this.#parts;
    try {
      while (this.#missing() !== undefined && this.#failure === undefined) {
        closing.throwIfAborted();
        await budget.room(chunkBytes, this.#stop.signal);
        await gate.background(async (ticket) => {
          const chunk = this.#missing();
          if (chunk === undefined || this.#failure !== undefined || !budget.hasRoom(chunkBytes)) return;
          await this.#request(chunk, ticket).bytes;
        });
      }
    } catch (error) {
      this.#fail({ error, side: 'source' });
    }
  }

  /** The next chunk that nobody has asked for: from where the last reader was onwards, then from the beginning. */
  #missing(): number | undefined {
    const onwards = this.#state.indexOf(MISSING, this.#next);
    const chunk = onwards === -1 ? this.#state.indexOf(MISSING) : onwards;
    return chunk === -1 ? undefined : chunk;
  }

  async #publish(): Promise<void> {
    invariant(
      this.#state.every((state) => state === WRITTEN),
      'a copy is to be published that is not whole',
    );
    try {
      await this.#parts.writes(async () => {
        const writer = await this.#openWriter();
        this.#copy = await this.#parts.claim.publish(writer, this.content, { signal: this.#parts.closing });
      });
    } catch (error) {
      this.#fail({ error, side: 'tier' });
    }
  }

  #fail(failure: PlacingFailure): void {
    this.#failure ??= failure;
    this.#stop.abort(failure.error);
  }

  #endOf(chunk: number): number {
    return Math.min(this.#parts.claim.bytes, (chunk + 1) * this.#parts.chunkBytes);
  }

  #lengthOf(chunk: number): number {
    return this.#endOf(chunk) - chunk * this.#parts.chunkBytes;
  }
}
