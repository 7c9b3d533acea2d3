import type { MessagePort } from 'node:worker_threads';
import { TieredError, type OperationOptions } from '@tiered/core';
import { assertCounts, onAbort } from '@tiered/core/internal';
import type { Sample, SampleReader, SampleReadOptions } from '@tiered/prefetch';
import { batchesOf, LentSample, ReusedMemory, samplesOf } from '@tiered/prefetch/internal';
import { errorFrom } from '../error-body.js';
import {
  DOORBELL,
  RELEASED,
  type LentToThread,
  type ThreadAnswer,
  type ThreadHello,
  type ThreadRequest,
} from './thread-messages.js';

/** A sample that this thread holds. */
class HeldSample extends LentSample {
  readonly #onReleased: () => void;

  constructor(lent: LentToThread, onReleased: () => void) {
    super(lent, lent.data);
    this.#onReleased = onReleased;
  }

  protected override onRelease(): void {
    this.#onReleased();
  }
}

/** A request that has not been answered. */
interface Pending {
  readonly resolve: (answer: ThreadAnswer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Reads samples in a worker thread from a prefetcher in another thread. Samples are views of the prefetcher's
 * memory, and every guarantee of `SampleReader` holds. A take returns at most 256 samples, and takes are
 * answered in the order of the calls. A client that holds 8192 samples gets `TIERED_LIMIT_REACHED` if it
 * takes more. If an abort comes while the answer is in transfer, its samples are released, and no consumer
 * gets them. The client ends with its thread, or with `close`.
 */
export class ThreadPrefetchClient implements SampleReader {
  readonly #port: MessagePort;
  readonly #pending = new Map<number, Pending>();
  readonly #held = new Set<HeldSample>();
  /** Memory for reads whose target the other thread cannot write to. */
  readonly #memory = new ReusedMemory();
  #flags: Int32Array | undefined;
  #next = 0;
  #closed: Promise<void> | undefined;

  /** @param port From `threadPort`, transferred to this thread. */
  constructor(port: MessagePort) {
    this.#port = port;
    port.on('message', (message: ThreadHello | ThreadAnswer) => this.#receive(message));
    port.on('close', () => this.#end());
    port.unref();
  }

  async take(most: number, { signal }: OperationOptions = {}): Promise<readonly Sample[]> {
    assertCounts({ most });
    const answer = await this.#ask((id) => ({ kind: 'take', id, most }), signal);
    // After a close, the memory of these samples belongs to the prefetcher again.
    if (this.#closed !== undefined) throw closedError();
    return 'samples' in answer ? answer.samples.map((lent) => this.#hold(lent)) : [];
  }

  async readInto(key: string, target: Uint8Array, options: SampleReadOptions = {}): Promise<number> {
    if (target.buffer instanceof SharedArrayBuffer) return this.#readShared(key, target, options);
    return this.#memory.lend(target.byteLength, async (shared) => {
      const count = await this.#readShared(key, shared, options);
      target.set(shared.subarray(0, count));
      return count;
    });
  }

  /** @param target Shared memory, since the other thread writes to it. */
  async #readShared(
    key: string,
    target: Uint8Array,
    { offset = 0, signal }: SampleReadOptions,
  ): Promise<number> {
    const answer = await this.#ask((id) => ({ kind: 'read', id, key, target, offset }), signal);
    return 'count' in answer ? answer.count : 0;
  }

  batches(size: number): AsyncIterableIterator<readonly Sample[]> {
    return batchesOf(this, size);
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<Sample> {
    return samplesOf(this);
  }

  close(): Promise<void> {
    for (const sample of this.#held) sample.release();
    this.#closed ??= new Promise((resolve) => {
      this.#port.once('close', resolve);
      this.#port.close();
    });
    this.#rejectAll();
    return this.#closed;
  }

  /** Calls `close`, at the end of an `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #ask(request: (id: number) => ThreadRequest, signal: AbortSignal | undefined): Promise<ThreadAnswer> {
    if (this.#closed !== undefined) return Promise.reject(closedError());
    signal?.throwIfAborted();
    const id = (this.#next += 1);
    return new Promise<ThreadAnswer>((resolve, reject) => {
      const stopListening = onAbort(signal, (reason) => {
        this.#port.postMessage({ kind: 'cancel', id });
        // The caller gets the target back only once the other side no longer uses it.
        this.#pending.set(id, {
          resolve: (answer) => {
            if ('samples' in answer) for (const lent of answer.samples) this.#hold(lent).release();
            reject(reason);
          },
          reject: () => reject(reason),
        });
      });
      const settle =
        <T>(then: (value: T) => void) =>
        (value: T) => {
          stopListening();
          then(value);
        };
      this.#pending.set(id, { resolve: settle(resolve), reject: settle(reject) });
      this.#port.ref();
      this.#port.postMessage(request(id));
    });
  }

  #receive(message: ThreadHello | ThreadAnswer): void {
    // A closed port still delivers messages that have arrived before.
    if (this.#closed !== undefined) return;
    if ('flags' in message) {
      this.#flags = message.flags;
      return;
    }
    const pending = this.#pending.get(message.id);
    this.#pending.delete(message.id);
    if (this.#pending.size === 0) this.#port.unref();
    if ('error' in message) pending?.reject(errorFrom(message.error));
    else pending?.resolve(message);
  }

  #hold(lent: LentToThread): HeldSample {
    const sample = new HeldSample(lent, () => {
      this.#held.delete(sample);
      const flags = this.#flags as Int32Array;
      Atomics.store(flags, lent.slot, RELEASED);
      if (Atomics.exchange(flags, DOORBELL, 0) === 1) this.#port.postMessage({ kind: 'released' });
    });
    this.#held.add(sample);
    return sample;
  }

  #end(): void {
    this.#closed ??= Promise.resolve();
    this.#rejectAll();
  }

  #rejectAll(): void {
    for (const { reject } of this.#pending.values()) reject(closedError());
    this.#pending.clear();
  }
}

function closedError(): TieredError {
  return new TieredError(
    'TIERED_CLOSED',
    'This client of a prefetcher was closed, or the thread of the prefetcher has ended; make a new port to go on reading.',
  );
}
