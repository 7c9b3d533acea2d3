import { isTieredError } from '@tiered/core';
import type { ObjectRef } from '@tiered/core/placement';
import { allEnded, invariant, memoryFor, onAbort, raceAbort } from '@tiered/core/internal';
import { Arriving } from './arriving.js';
import { Chunks } from './chunks.js';
import { GrowingCopy } from './growing-copy.js';
import {
  partsOf,
  callerHasFill,
  type RangePart,
  type FillFailure,
  type FillParts,
  type FillTask,
} from './fill-parts.js';
import type { Ticket } from '../source/gate.js';
import type { Copy, CopyContent, Turn } from '../tier/tier-store.js';

const NOTHING = new Uint8Array(0);

/**
 * Ends the wait of lanes for memory. One shared error, because creating one for each lane would cost more
 * than everything else.
 */
const MAY_GO = new Error('Nothing is left to wait for.');

/**
 * Places one object on a tier, chunk by chunk.
 *
 * **Problem.** Readers want parts of the object now, in any order. The tier wants all of it. No byte may be
 * requested from the source twice.
 *
 * **Moving parts.** A chunk is *missing*, *arriving* (requested, or here and not yet written), or *written*.
 * A reader that needs a missing chunk requests it at once, ahead of all background work, if there is memory
 * for it. A reader that needs an arriving chunk waits for it. A written chunk is read back from the tier.
 *
 * A few *lanes* request missing chunks, from the last reader's position onwards, because most readers
 * continue from there. Readers get copies of their parts of a chunk as they arrive. A chunk that has fully
 * arrived is summed and written to the tier at its place; then its memory is free. After the last chunk the
 * copy is published. A copy of one chunk is written and published in one call of the tier, and its readers
 * are served from memory until that call has ended.
 *
 * **Invariants.** A chunk is requested once, unless the request failed. A reader waits for the chunks of its
 * range and for memory for them. It waits for the tier only if the bytes are only there. The memory of a
 * chunk is never exposed, so the bytes written are the bytes received. Memory is held for arriving chunks,
 * and for bytes that a driver buffers until the copy is published. With several chunks, a file is open from
 * the first written chunk on. After `done` nothing is held and nothing is in progress; either the copy is
 * published, or there is no trace of it.
 */
export class ObjectFill {
  readonly #task: FillTask;
  readonly #parts: FillParts;
  /** Ends the lanes, and the wait for memory. Requests in flight may have readers, and continue. */
  #stop: AbortController | undefined;
  /** Ends the wait of lanes for memory: nothing is missing, or there is memory for all of it. */
  #laneMayGo: AbortController | undefined;
  readonly #chunks: Chunks;
  readonly #arriving = new Map<number, Arriving>();
  /** Readers of chunks that have no memory yet. Called once the chunk was requested, or never will be. */
  readonly #waiting = new Map<number, ((stalled: boolean) => void)[]>();
  /** Requested chunks that are not settled. */
  #unsettled = 0;
  #onSettled: (() => void) | undefined;
  readonly #growing: GrowingCopy;
  /**
   * Bytes of memory for the whole object, if the driver buffers the copy until it is published. Taken with
   * the first chunk.
   */
  #reserved = 0;
  #failure: FillFailure | undefined;
  /** Resolves once the fill has ended, to its failure if there was one. */
  readonly done: Promise<FillFailure | undefined>;

  constructor(task: FillTask, parts: FillParts) {
    this.#task = task;
    this.#parts = parts;
    this.#growing = new GrowingCopy(task, parts.host);
    const stopListening = onAbort(parts.closing, (error) => this.#fail({ error, side: 'source' }));
    this.#chunks = new Chunks(task.claim.bytes, task.object.chunkBytes);
    this.done = this.#run().finally(stopListening);
  }

  /** The object that is being placed. */
  get object(): ObjectRef {
    return this.#task.object;
  }

  /** Bytes of the copy: the whole object, or its beginning. */
  get bytes(): number {
    return this.#task.claim.bytes;
  }

  /**
   * Whether the fill can serve this range, which lies within the copy. If tiers are too slow, it serves
   * nothing that needs more memory, unless readers wait for memory.
   */
  serves(offset: number, length: number): boolean {
    const { budget, readersWait } = this.#parts;
    if (this.#failure !== undefined) return false;
    if (readersWait ? !budget.isStalled : budget.hasRoom(this.#task.object.chunkBytes)) return true;
    return !this.#chunks.missesAny(offset, length);
  }

  /** Bytes of the written chunks. */
  get writtenBytes(): number {
    return this.#chunks.writtenBytes;
  }

  /** The copy, once it is published. */
  get copy(): Copy {
    const { published } = this.#growing;
    invariant(published !== undefined, 'a copy was asked for that is not published');
    return published;
  }

  /** The content of the copy, complete once all its chunks are written. */
  get content(): CopyContent {
    const { claim } = this.#task;
    const { size, chunkBytes } = this.#task.object;
    return { size, chunkBytes, bytes: claim.bytes, sums: this.#chunks.sums };
  }

  /**
   * Reads a range as soon as its bytes have arrived, into new memory that the caller owns. An abort rejects
   * at once; the fill continues.
   */
  async read(offset: number, length: number, signal: AbortSignal | undefined): Promise<Uint8Array> {
    const result = memoryFor(length, this.object.key);
    await raceAbort(this.readInto(result, offset, undefined), signal);
    return result;
  }

  /**
   * As `read`, into the caller's memory, which the caller owns again once this has settled. An abort ends the
   * read as soon as nothing writes to that memory any more. If the object turns out to have another version,
   * bytes of the old one are erased.
   */
  async readInto(target: Uint8Array, offset: number, signal: AbortSignal | undefined): Promise<void> {
    const { chunkBytes } = this.#task.object;
    this.#chunks.goOnFrom(offset + target.byteLength);
    const chunk = Math.floor(offset / chunkBytes);
    if (offset + target.byteLength <= (chunk + 1) * chunkBytes)
      await this.#readPart({ chunk, start: offset, target }, signal);
    else await this.#readParts(partsOf(offset, target, chunkBytes), signal);
    signal?.throwIfAborted();
  }

  async #readParts(parts: readonly RangePart[], signal: AbortSignal | undefined): Promise<void> {
    const filled: Uint8Array[] = [];
    try {
      const read = (part: RangePart) =>
        this.#readPart(part, signal).then(() => void filled.push(part.target));
      await allEnded(parts.map(read));
    } catch (error) {
      if (isTieredError(error, 'TIERED_SOURCE_CHANGED')) for (const target of filled) target.fill(0);
      throw error;
    }
  }

  /** Copies a part from its chunk, as soon as it has arrived. */
  #readPart(part: RangePart, signal: AbortSignal | undefined): Promise<void> {
    const { chunk, start, target } = part;
    // A failed tier or another failed chunk must not fail a read that the source can serve.
    if (this.#failure !== undefined) return this.#readAlone(part, signal);
    if (this.#chunks.isWritten(chunk)) return this.#readBack(start, target, signal);
    const arriving = this.#arriving.get(chunk);
    if (arriving !== undefined) {
      arriving.ticket?.promote();
      return raceAbort(this.#copied(arriving, part, signal), signal);
    }
    if (!this.#waiting.has(chunk) && this.#mayAsk(chunk)) {
      this.#askNow(chunk, false);
      return raceAbort(this.#goOn(part, signal, false), signal);
    }
    const read = new Promise<void>((resolve) => {
      this.#ask(chunk, (stalled) => resolve(this.#goOn(part, signal, stalled)));
    });
    return raceAbort(read, signal);
  }

  /**
   * Continues a read whose chunk was requested, or never will be. Synchronously, because the memory of the
   * chunk may later belong to another chunk.
   */
  #goOn(part: RangePart, signal: AbortSignal | undefined, stalled: boolean): Promise<void> {
    const arriving = this.#arriving.get(part.chunk);
    if (arriving !== undefined) return this.#copied(arriving, part, signal);
    if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
    return stalled ? this.#readAlone(part, signal) : this.#readPart(part, signal);
  }

  #copied(
    arriving: Arriving,
    { chunk, start, target }: RangePart,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    return arriving.copy(target, start - chunk * this.#task.object.chunkBytes, signal);
  }

  /** Reads a part for one reader only, because its chunk gets no memory, or will not be written. */
  #readAlone({ start, target }: RangePart, signal: AbortSignal | undefined): Promise<void> {
    const { tierReads, gate } = this.#parts;
    const { bring } = this.#task;
    return tierReads.run(signal, (under) => gate.foreground(() => bring(target, start, under)));
  }

  /** Reads bytes that the tier already has, of a copy that is not published yet or was published just now. */
  #readBack(offset: number, target: Uint8Array, signal: AbortSignal | undefined): Promise<void> {
    return this.#parts.tierReads.run(signal, (under) => this.#readBackUnder(under, offset, target));
  }

  async #readBackUnder(signal: AbortSignal, offset: number, target: Uint8Array): Promise<void> {
    const count = await this.#growing.readInto(target, { offset, signal });
    signal.throwIfAborted();
    // A failed tier must not fail a read that the source can serve.
    if (count !== target.byteLength) await this.#task.bring(target, offset, signal);
  }

  /**
   * Requests a missing chunk that a reader waits for, once there is memory for it.
   * @param then Called once the chunk was requested, by any caller, or never will be.
   */
  #ask(chunk: number, then: (stalled: boolean) => void): void {
    const waiting = this.#waiting.get(chunk);
    if (waiting !== undefined) return void waiting.push(then);
    this.#waiting.set(chunk, [then]);
    this.#stop ??= new AbortController();
    const options = { isReader: true, signal: this.#stop.signal };
    const ask = (stalled: boolean) => this.#askNow(chunk, stalled);
    this.#parts.budget.whenRoom(this.#roomFor(chunk), ask, options).catch(() => this.#asked(chunk, false));
  }

  /** Whether a chunk that a reader needs may be requested now. */
  #mayAsk(chunk: number): boolean {
    const { budget, readersWait } = this.#parts;
    return !readersWait || this.#reserved > 0 || budget.isFree(this.#roomFor(chunk));
  }

  #askNow(chunk: number, stalled: boolean): void {
    if (!stalled && this.#chunks.isMissing(chunk) && this.#failure === undefined) {
      try {
        const { bytes } = this.#request(chunk);
        // `#settle` handles a failure.
        this.#parts.gate.foreground(() => bytes).catch(() => undefined);
      } catch (error) {
        this.#fail({ error, side: 'source' });
      }
    }
    this.#asked(chunk, stalled);
  }

  #asked(chunk: number, stalled: boolean): void {
    const waiting = this.#waiting.get(chunk);
    if (waiting === undefined) return;
    this.#waiting.delete(chunk);
    for (const then of waiting) then(stalled);
  }

  /**
   * Bytes of memory that must be free before a request: the size of its chunk. If the driver buffers the copy
   * until it is published, they are all the bytes that the fill may hold: the copy twice, in chunks and in
   * the driver. After that no request of this fill waits, because none of the memory is free again before the
   * fill ends.
   */
  #roomFor(chunk: number): number {
    return this.#isBuffered ? 2 * this.bytes : this.#chunks.lengthOf(chunk);
  }

  get #isBuffered(): boolean {
    const { claim } = this.#task;
    return claim.gathers === true || claim.store.tier.driver.capabilities.buffersWrites;
  }

  /** Whether the tier may keep the memory of the copy. */
  get #isKept(): boolean {
    return this.#task.claim.keeps === true && this.#chunks.count === 1;
  }

  /** Takes memory for a chunk from the budget. */
  #take(chunk: number): void {
    if (this.#reserved > 0) return;
    const bytes = this.#roomFor(chunk);
    this.#parts.budget.take(bytes);
    if (this.#isBuffered) this.#reserved = bytes;
  }

  /** Requests a chunk. `#settle` handles it afterwards. */
  #request(chunk: number, ticket?: Ticket): Arriving {
    const { budget, checksum, closing } = this.#parts;
    const { bring, object } = this.#task;
    const memory = budget.lend(this.#chunks.lengthOf(chunk), this.#isKept);
    this.#take(chunk);
    this.#chunks.asked(chunk);
    const arriving = new Arriving(memory, ticket, async (progress) => {
      await bring(memory, chunk * object.chunkBytes, closing, progress, ticket?.isWaitedFor);
      this.#chunks.came(chunk, checksum.bytes(memory));
      budget.came(memory.byteLength);
    });
    this.#arriving.set(chunk, arriving);
    void this.#settle(chunk, arriving, memory);
    this.#asked(chunk, false);
    // Last, because this may give memory to others, which then make requests.
    if (this.#mayLanesGo) this.#laneMayGo?.abort(MAY_GO);
    if (this.#reserved > 0) for (const other of [...this.#waiting.keys()]) this.#askNow(other, false);
    return arriving;
  }

  /**
   * Writes a chunk once it has arrived, publishes the copy after the last one, and gives the chunk's memory
   * back. Never rejects.
   */
  async #settle(chunk: number, arriving: Arriving, memory: Uint8Array): Promise<void> {
    const { budget } = this.#parts;
    this.#unsettled += 1;
    let side: 'source' | 'tier' = 'source';
    try {
      await arriving.bytes;
      side = 'tier';
      if (this.#chunks.count > 1) await this.#write(chunk, memory);
      else await this.#writeWhole(memory);
    } catch (error) {
      this.#fail({ error, side });
    }
    this.#arriving.delete(chunk);
    // If the chunk did not arrive, a driver that breaks its contract may still write to the memory.
    budget.giveBack(memory, arriving.isHere, this.#isKept);
    if (this.#reserved === 0) budget.release(memory.byteLength);
    this.#unsettled -= 1;
    if (this.#unsettled === 0) this.#onSettled?.();
  }

  /** Writes one chunk of several, and publishes the copy after the last one. */
  async #write(chunk: number, bytes: Uint8Array): Promise<void> {
    const { closing, writers } = this.#parts;
    let publishing: Promise<void> | undefined;
    await writers.run(bytes.byteLength, async () => {
      if (this.#failure !== undefined) return;
      await this.#growing.writeAt(bytes, { offset: chunk * this.#task.object.chunkBytes, signal: closing });
      this.#chunks.wrote(chunk);
      if (!this.#chunks.areWritten) return;
      // Published within this turn. Behind all waiting writes, thousands of files would be open.
      await new Promise<void>((ended) => {
        publishing = this.#publish((move) => move().finally(ended)).finally(ended);
        // The rejection is awaited below.
        publishing.catch(() => undefined);
      });
    });
    await publishing;
  }

  /** Writes and publishes a copy of at most one chunk. */
  async #writeWhole(bytes: Uint8Array): Promise<void> {
    if (this.#failure !== undefined) return;
    const { closing, writers } = this.#parts;
    const turn: Turn = (move) => writers.run(bytes.byteLength, move);
    await this.#growing.write(bytes, this.content, { signal: closing, turn });
    if (this.#chunks.count === 1) this.#chunks.wrote(0);
  }

  /** Fetches all chunks, and waits until the copy is published. */
  async #run(): Promise<FillFailure | undefined> {
    const { budget, lanes } = this.#parts;
    // The caller may need a certain chunk first. It receives this fill through promises of its own.
    await callerHasFill();
    if (this.#missing() !== undefined) {
      const count = Math.min(lanes, this.#chunks.count);
      await Promise.all(Array.from({ length: count }, () => this.#lane()));
    }
    while (this.#unsettled > 0) await new Promise<void>((resolve) => (this.#onSettled = resolve));
    if (this.#chunks.count === 0)
      await this.#writeWhole(NOTHING).catch((error: unknown) => this.#fail({ error, side: 'tier' }));
    await this.#growing.discard();
    if (this.#reserved > 0) budget.release(this.#reserved);
    // A published copy stays, even if something failed or was aborted meanwhile.
    return this.#growing.published === undefined ? this.#failure : undefined;
  }

  /** Requests missing chunks, one after the other. */
  async #lane(): Promise<void> {
    const { gate, budget, closing } = this.#parts;
    try {
      for (let chunk = this.#missing(); chunk !== undefined; chunk = this.#missing()) {
        closing.throwIfAborted();
        const bytes = this.#roomFor(chunk);
        if (!this.#mayLanesGo && !budget.isFreeInOrder(bytes)) await this.#laneRoom(bytes);
        if (this.#missing() !== undefined) await gate.background((ticket) => this.#fetchMissing(ticket));
      }
    } catch (error) {
      this.#fail({ error, side: 'source' });
    }
  }

  /** Waits for memory for a chunk, or until lanes need not wait for it. */
  async #laneRoom(bytes: number): Promise<void> {
    this.#laneMayGo ??= new AbortController();
    const options = { isReader: false, signal: this.#laneMayGo.signal };
    await this.#parts.budget.whenRoom(bytes, () => undefined, options).catch(() => undefined);
  }

  /** Whether lanes need not wait for memory. */
  get #mayLanesGo(): boolean {
    return this.#reserved > 0 || this.#missing() === undefined;
  }

  /** Fetches a chunk that was not requested yet, if there is memory left for it. */
  async #fetchMissing(ticket: Ticket): Promise<void> {
    const chunk = this.#missing();
    if (chunk === undefined) return;
    if (this.#reserved > 0 || this.#parts.budget.isFree(this.#roomFor(chunk)))
      await this.#request(chunk, ticket).bytes;
  }

  /** The next chunk to request, if the fill is to continue. */
  #missing(): number | undefined {
    return this.#failure === undefined ? this.#chunks.missing : undefined;
  }

  /** Publishes the copy of several chunks. */
  async #publish(turn: Turn): Promise<void> {
    if (this.#failure !== undefined) return;
    invariant(this.#chunks.areWritten, 'a copy is to be published that is not whole');
    try {
      await this.#growing.publish(this.content, turn);
    } catch (error) {
      // Closing may have failed the fill earlier, but the error of the publish is the one to report.
      this.#failure = undefined;
      throw error;
    }
  }

  #fail(failure: FillFailure): void {
    this.#failure ??= failure;
    this.#stop?.abort(failure.error);
    this.#laneMayGo?.abort(MAY_GO);
  }
}
