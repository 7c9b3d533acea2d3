import { TieredError } from '@tiered/core';
import { memoryFor } from '@tiered/core/internal';
import type { Sample } from '@tiered/prefetch';
import type { Answer } from './client-connection.js';
import type { ClientMemory } from './client-memory.js';
import { malformed, type SampleHead } from '../wire/protocol.js';

/** A received sample, in its own memory or in shared memory. */
class ReceivedSample implements Sample {
  readonly key: string;
  readonly epoch: number;
  readonly position: number;
  readonly #held: Set<Sample>;
  #data: Uint8Array | undefined;
  #onRelease: (() => void) | undefined;

  /** @param onRelease Called once, when the bytes may no longer be used. */
  constructor(
    { key, epoch, position }: SampleHead,
    data: Uint8Array,
    held: Set<Sample>,
    onRelease?: () => void,
  ) {
    this.key = key;
    this.epoch = epoch;
    this.position = position;
    this.#data = data;
    this.#onRelease = onRelease;
    this.#held = held.add(this);
  }

  get data(): Uint8Array {
    if (this.#data === undefined)
      throw new TieredError(
        'TIERED_CLOSED',
        `The sample ${JSON.stringify(this.key)} was released; copy what you need before that.`,
        { key: this.key },
      );
    return this.#data;
  }

  release(): void {
    const onRelease = this.#onRelease;
    this.#data = undefined;
    this.#onRelease = undefined;
    this.#held.delete(this);
    onRelease?.();
  }

  [Symbol.dispose](): void {
    this.release();
  }
}

/** The limits of an answer to a `take`. */
interface SampleLimits {
  /** The number of requested samples. */
  readonly most: number;
  /** The most bytes of one sample. */
  readonly maxSampleBytes: number;
}

/** The answer to a `take`. */
export class SampleAssembly implements Answer {
  readonly #limits: SampleLimits;
  readonly #memory: ClientMemory | undefined;
  readonly #held: Set<Sample>;
  readonly #receive: (sample: Sample) => void;
  #samples = 0;
  #next: { readonly head: SampleHead; readonly bytes: Uint8Array } | undefined;
  #filled = 0;

  /**
   * @param memory The shared memory that may hold samples.
   * @param held Holds each sample until it is released.
   * @param receive Called with each complete sample.
   */
  constructor(
    limits: SampleLimits,
    memory: ClientMemory | undefined,
    held: Set<Sample>,
    receive: (sample: Sample) => void,
  ) {
    this.#limits = limits;
    this.#memory = memory;
    this.#held = held;
    this.#receive = receive;
  }

  sample(head: SampleHead): void {
    this.end();
    this.#samples += 1;
    if (this.#samples > this.#limits.most)
      throw malformed(`more than the ${this.#limits.most} samples asked for`);
    if (head.size > this.#limits.maxSampleBytes) throw aboveLimit(head, this.#limits.maxSampleBytes);
    if (head.piece !== undefined) {
      this.#receive(this.#placed(head, head.piece));
      return;
    }
    this.#next = { head, bytes: memoryFor(head.size, head.key) };
    this.#filled = 0;
    this.#finish();
  }

  data(part: Uint8Array): void {
    if (this.#next === undefined || this.#filled + part.byteLength > this.#next.bytes.byteLength)
      throw malformed('a sample has more bytes than it was said to have');
    this.#next.bytes.set(part, this.#filled);
    this.#filled += part.byteLength;
    this.#finish();
  }

  end(): void {
    if (this.#next !== undefined) throw malformed('a sample has fewer bytes than it was said to have');
  }

  #placed(head: SampleHead, piece: number): Sample {
    const memory = this.#memory;
    if (memory === undefined) throw malformed('a sample lies in memory that is not shared');
    return new ReceivedSample(head, memory.bytesOf(head), this.#held, () => memory.release(piece));
  }

  #finish(): void {
    if (this.#next === undefined || this.#filled < this.#next.bytes.byteLength) return;
    this.#receive(new ReceivedSample(this.#next.head, this.#next.bytes, this.#held));
    this.#next = undefined;
  }
}

function aboveLimit({ key, size }: SampleHead, most: number): TieredError {
  return new TieredError(
    'TIERED_TOO_LARGE',
    `The server announces ${JSON.stringify(key)} with ${size} bytes, and this client takes ${most} at most (maxSampleBytes); raise that, or read the object in parts. The connection is closed.`,
    { key },
  );
}

/** The answer to a `read`. Its bytes are copied to the target until the reader aborts. */
export class ReadAssembly implements Answer {
  readonly #target: Uint8Array;
  readonly #signal: AbortSignal | undefined;
  #bytes = 0;

  constructor(target: Uint8Array, signal: AbortSignal | undefined) {
    this.#target = target;
    this.#signal = signal;
  }

  /** The number of received bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  sample(): void {
    throw malformed('a sample is no answer to read');
  }

  data(part: Uint8Array): void {
    if (this.#bytes + part.byteLength > this.#target.byteLength)
      throw malformed('a read gave more bytes than it was asked for');
    // An aborted read has settled, and its target belongs to the reader again.
    if (this.#signal?.aborted !== true) this.#target.set(part, this.#bytes);
    this.#bytes += part.byteLength;
  }

  end(): void {
    // An answer may have any number of bytes.
  }
}
