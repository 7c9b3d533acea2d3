import { TieredError, type OperationOptions } from '@tiered/core';
import { onAbort } from '@tiered/core/internal';
import type { Sample, SampleReader, SampleReadOptions } from '@tiered/prefetch';
import { batchesOf, samplesOf } from '@tiered/prefetch/internal';

/**
 * What sample number `i` is made of: unlike its neighbours from the first byte on, and unlike itself when
 * shifted.
 */
export function bytesOf(i: number, size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size; at++) bytes[at] = (37 * i + at + (at >> 8)) % 251;
  return bytes;
}

export const keyOf = (i: number) => `object-${i}`;

/** Which sample it is; its bytes must be those of that sample. */
export function checked({ key, data }: Sample): number {
  const i = Number(key.slice('object-'.length));
  if (Buffer.compare(data, bytesOf(i, data.byteLength)) !== 0) throw new Error(`${key} has other bytes`);
  return i;
}

/** What freed memory is filled with; no sample has such bytes. */
const FREED = 255;

/**
 * Samples in memory, as a prefetcher lends them: on shared memory that serves something else after the
 * release. They come when they are allowed to, and reads of the key `slow` only end with their signal.
 */
export class ListReader implements SampleReader {
  readonly #sizes: readonly number[];
  readonly #epochLength: number;
  #allowed: number;
  #next = 0;
  readonly #held = new Set<Sample>();
  /** Takes that wait for a sample. */
  waiting = 0;
  /** Reads that have not ended. */
  reading = 0;
  /** Reads of what is not there. */
  failedReads = 0;
  closed = false;
  /** What the next `take` fails with. */
  failure: Error | undefined;
  readonly #conditions = new Set<() => void>();

  constructor(
    sizes: readonly number[],
    { allowed = Infinity, epochLength = sizes.length }: { allowed?: number; epochLength?: number } = {},
  ) {
    this.#sizes = sizes;
    this.#allowed = allowed;
    this.#epochLength = epochLength;
  }

  /** Samples that were lent and not released. */
  get held(): number {
    return this.#held.size;
  }

  /** Samples that were lent. */
  get lent(): number {
    return this.#next;
  }

  /** Lets so many more samples come. */
  allow(count: number): void {
    this.#allowed += count;
    this.#changed();
  }

  /** Resolves when something is so. */
  until(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!condition()) return;
        this.#conditions.delete(look);
        resolve();
      };
      this.#conditions.add(look);
      look();
    });
  }

  async take(most: number, { signal }: OperationOptions = {}): Promise<readonly Sample[]> {
    signal?.throwIfAborted();
    this.waiting += 1;
    this.#changed();
    try {
      await this.#orAborted(
        this.until(
          () => this.#allowed > this.#next || this.#next === this.#sizes.length || this.failure !== undefined,
        ),
        signal,
      );
    } finally {
      this.waiting -= 1;
      this.#changed();
    }
    signal?.throwIfAborted();
    if (this.failure !== undefined) throw this.failure;
    const samples: Sample[] = [];
    while (samples.length < most && this.#next < Math.min(this.#allowed, this.#sizes.length)) {
      if (samples.length > 0 && this.#next % this.#epochLength === 0) break;
      samples.push(this.#lend(this.#next++));
    }
    this.#changed();
    return samples;
  }

  batches(size: number): AsyncIterableIterator<readonly Sample[]> {
    return batchesOf(this, size);
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<Sample> {
    return samplesOf(this);
  }

  async readInto(
    key: string,
    target: Uint8Array,
    { offset = 0, signal }: SampleReadOptions = {},
  ): Promise<number> {
    this.reading += 1;
    this.#changed();
    try {
      if (key === 'slow') await this.#orAborted(new Promise(() => undefined), signal);
      const i = this.#sizes.findIndex((_, n) => keyOf(n) === key);
      if (i < 0) this.failedReads += 1;
      if (i < 0) throw new TieredError('TIERED_NOT_FOUND', `There is no ${key}.`, { key, retryable: true });
      const part = bytesOf(i, this.#sizes[i] ?? 0).subarray(offset, offset + target.byteLength);
      target.set(part);
      return part.byteLength;
    } finally {
      this.reading -= 1;
      this.#changed();
    }
  }

  async close(): Promise<void> {
    this.closed = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #lend(i: number): Sample {
    const size = this.#sizes[i] ?? 0;
    let data: Uint8Array | undefined = new Uint8Array(new SharedArrayBuffer(size));
    data.set(bytesOf(i, size));
    const sample = {
      key: keyOf(i),
      epoch: Math.floor(i / this.#epochLength),
      position: i % this.#epochLength,
      get data() {
        if (data === undefined) throw new TieredError('TIERED_CLOSED', 'It was released.');
        return data;
      },
      release: () => {
        data?.fill(FREED);
        data = undefined;
        this.#held.delete(sample);
        this.#changed();
      },
      [Symbol.dispose]: () => sample.release(),
    };
    this.#held.add(sample);
    return sample;
  }

  #orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      const stop = onAbort(signal, reject);
      void promise.then(resolve, reject).finally(stop);
    });
  }

  #changed(): void {
    for (const look of [...this.#conditions]) look();
  }
}
