import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { TieredError } from '@tiered/core';
import { invariant, limited } from '@tiered/core/internal';
import pLimit from 'p-limit';
import type { Sample, SampleReader } from '@tiered/prefetch';
import { errorBody } from '../error-body.js';
import {
  DOORBELL,
  LENT,
  MOST_OF_A_TAKE,
  RELEASED,
  SLOTS,
  type LentToThread,
  type ThreadRequest,
} from './thread-messages.js';

/**
 * Makes a port for another thread. There, `new ThreadPrefetchClient(port)` takes samples that the prefetcher
 * has read ahead. They are not copied: samples are views of the same shared memory.
 *
 * The client's thread marks a sample as released in shared memory (`Atomics`). The first release after the
 * prefetcher's thread last looked there also sends a message, the doorbell. When the thread ends or closes
 * its client, its samples are released. The port keeps no thread alive.
 * @param reader The prefetcher, or another reader whose samples are in `SharedArrayBuffer`s.
 * @returns The port to transfer: `new Worker(file, { workerData: { port }, transferList: [port] })`.
 */
export function threadPort(reader: Pick<SampleReader, 'take' | 'readInto'>): MessagePort {
  const { port1, port2 } = new MessageChannel();
  new ThreadHost(reader, port1);
  return port2;
}

/** Serves one client in another thread. */
class ThreadHost {
  readonly #reader: Pick<SampleReader, 'take' | 'readInto'>;
  readonly #port: MessagePort;
  readonly #flags = new Int32Array(new SharedArrayBuffer(4 * (SLOTS + 1)));
  readonly #lent = new Map<number, Sample>();
  readonly #free = Array.from({ length: SLOTS }, (_, i) => SLOTS - i);
  /** One take at a time, so that slots that one take reserved and did not need are free for the next. */
  readonly #takes = pLimit(1);
  readonly #underWay = new Map<number, AbortController>();
  #isClosed = false;

  constructor(reader: Pick<SampleReader, 'take' | 'readInto'>, port: MessagePort) {
    this.#reader = reader;
    this.#port = port;
    port.on('message', (request: ThreadRequest) => this.#receive(request));
    port.on('close', () => this.#close());
    port.postMessage({ flags: this.#flags });
    port.unref();
  }

  #receive(request: ThreadRequest): void {
    this.#sweep();
    if (request.kind === 'cancel') this.#underWay.get(request.id)?.abort();
    else if (request.kind !== 'released') void this.#answer(request);
  }

  async #answer(request: ThreadRequest & { readonly id: number }): Promise<void> {
    const { id } = request;
    const controller = new AbortController();
    const { signal } = controller;
    this.#underWay.set(id, controller);
    try {
      if (request.kind === 'take')
        await limited(this.#takes, signal, () => this.#take(id, request.most, signal));
      else if (request.kind === 'read') {
        const { key, target, offset } = request;
        const count = await this.#reader.readInto(key, target, { offset, signal });
        this.#port.postMessage({ id, count });
      }
    } catch (error) {
      this.#port.postMessage({ id, error: errorBody(error) });
    } finally {
      this.#underWay.delete(id);
    }
  }

  async #take(id: number, most: number, signal: AbortSignal): Promise<void> {
    const slots = this.#free.splice(-Math.min(most, MOST_OF_A_TAKE));
    if (slots.length === 0) throw holdsTooMuch();
    try {
      const samples = await this.#reader.take(slots.length, { signal });
      if (this.#isClosed) for (const sample of samples) sample.release();
      else this.#port.postMessage({ id, samples: samples.map((sample) => this.#lend(sample, slots)) });
    } finally {
      this.#free.push(...slots);
    }
  }

  #lend(sample: Sample, slots: number[]): LentToThread {
    const slot = slots.pop();
    invariant(slot !== undefined, 'more samples came than were asked for');
    const { key, epoch, position, data } = sample;
    this.#lent.set(slot, sample);
    Atomics.store(this.#flags, slot, LENT);
    return { key, epoch, position, data, slot };
  }

  /** Collects released samples, and requests a message at the next release. */
  #sweep(): void {
    // This comes first, so that a release after the check below rings.
    Atomics.store(this.#flags, DOORBELL, 1);
    for (const [slot, sample] of this.#lent) {
      if (Atomics.load(this.#flags, slot) !== RELEASED) continue;
      this.#lent.delete(slot);
      this.#free.push(slot);
      sample.release();
    }
  }

  #close(): void {
    this.#isClosed = true;
    for (const controller of this.#underWay.values()) controller.abort();
    for (const sample of this.#lent.values()) sample.release();
    this.#lent.clear();
  }
}

function holdsTooMuch(): TieredError {
  return new TieredError(
    'TIERED_LIMIT_REACHED',
    `A client holds ${SLOTS} samples at most; release some before you take more.`,
  );
}
