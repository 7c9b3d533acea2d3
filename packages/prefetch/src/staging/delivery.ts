import type { Sample } from '../sample.js';
import type { Access } from '../sequence/access-sequence.js';
import type { Entry } from './entry.js';
import type { Lender } from './lender.js';
import type { LookAhead } from './look-ahead.js';
import type { Taken, WorkPort } from './queue-ports.js';
import type { Skips } from './skips.js';
import type { Waiters } from './waiters.js';
import type { Window } from './window.js';

/** Dependencies of a delivery. */
export interface DeliveryParts {
  readonly window: Window;
  readonly ahead: LookAhead;
  readonly waiters: Waiters;
  readonly lender: Lender;
  readonly skips: Skips;
  readonly work: WorkPort;
  /** The error that the queue ended with. */
  readonly failure: () => { readonly error: unknown } | undefined;
  /** Whether an entry stands for the failure of the sequence itself. Such an entry is never skipped. */
  readonly isBroken: (entry: Entry) => boolean;
  readonly onTaken: (taken: Taken) => void;
  /** Ends the queue. */
  readonly end: (error: unknown) => void;
}

/**
 * Gives consumers the samples at the head of the window, in order. A consumer that asks before they are ready
 * waits.
 */
export class Delivery {
  readonly #parts: DeliveryParts;
  /** Whether a consumer takes samples in order, and so must get all of them. */
  isInOrder = false;
  #isToServe = false;

  constructor(parts: DeliveryParts) {
    this.#parts = parts;
  }

  /**
   * The first access that no consumer has taken; undefined at the end, and while the sequence has not
   * produced it yet.
   */
  get next(): Access | undefined {
    const { window, ahead } = this.#parts;
    return window.head()?.request ?? ahead.request;
  }

  /**
   * @param epoch The epoch that the samples must belong to; at its end there are none. Default: that of the
   * first sample.
   */
  async take(most: number, signal: AbortSignal | undefined, epoch?: number): Promise<readonly Sample[]> {
    const { waiters, skips, work } = this.#parts;
    signal?.throwIfAborted();
    this.isInOrder = true;
    if (waiters.first() === undefined && !skips.isTelling) {
      const samples = this.#collect(most, epoch);
      if (samples !== undefined) return samples;
    }
    const waiting = waiters.wait({ most, epoch }, signal);
    work.available();
    return waiting;
  }

  /** Takes the next sample as `take` does, but only if it is ready and no consumer waits for it. */
  takeNow(epoch: number | undefined): Sample | undefined {
    const { window, waiters, skips, failure } = this.#parts;
    const head = window.head();
    if (head?.state !== 'ready' || (epoch !== undefined && epoch !== head.request.epoch)) return undefined;
    if (failure() !== undefined || skips.isTelling || waiters.first()) return undefined;
    this.isInOrder = true;
    return this.#collect(1, epoch)?.[0];
  }

  /** Gives ready samples to waiting consumers. */
  serve(): void {
    const { waiters, skips } = this.#parts;
    this.#isToServe = false;
    // Serve afterwards: the head is still the sample that `onSkip` is told of.
    if (skips.isTelling) return;
    waiters.serve(({ most, epoch }) => this.#collect(most, epoch));
  }

  /**
   * Serves a moment later. The rest of a batch may be ready by then, so that one consumer gets more than one
   * of its samples.
   */
  serveSoon(): void {
    if (!this.#isToServe) queueMicrotask(() => this.serve());
    this.#isToServe = true;
  }

  /**
   * Returns the ready samples at the head of the window. Returns none at the end of the sequence or of the
   * epoch, and undefined if the first is not ready yet.
   */
  #collect(most: number, epoch: number | undefined): Sample[] | undefined {
    const { window, ahead, lender, work, failure, end, onTaken } = this.#parts;
    const failed = failure();
    if (failed !== undefined) throw failed.error;
    this.#skipFailed(epoch);
    if (epoch !== undefined && (this.next?.epoch ?? epoch) !== epoch) return [];
    const samples: Sample[] = [];
    let bytes = 0;
    for (let head = window.head(); head !== undefined && samples.length < most; head = window.head()) {
      if (head.state !== 'ready' || (samples[0]?.epoch ?? head.request.epoch) !== head.request.epoch) break;
      const size = head.bytes.byteLength;
      try {
        samples.push(lender.lend(head, window));
      } catch (error) {
        // There is no memory for a copy. The error is thrown when this sample is the first.
        if (samples.length > 0) break;
        end(error);
        throw error;
      }
      bytes += size;
    }
    const [first] = samples;
    if (first !== undefined) onTaken({ samples: samples.length, bytes, epoch: first.epoch });
    else if (!ahead.ended || window.head() !== undefined) return undefined;
    else work.ended();
    return samples;
  }

  /** Skips failed samples at the head of the window, as far as that is allowed. */
  #skipFailed(epoch: number | undefined): void {
    const { window, skips, work, failure, isBroken, end } = this.#parts;
    for (let head = window.head(); head?.state === 'failed'; head = window.head()) {
      const { request, error } = head;
      // Samples after this epoch are not for this consumer.
      if (epoch !== undefined && request.epoch !== epoch) return;
      const reason = isBroken(head) ? { error } : skips.skip(request, error);
      if (reason !== undefined) end(reason.error);
      // The callback may have ended the queue, which has removed this entry.
      const failed = failure();
      if (failed !== undefined) throw failed.error;
      window.remove(head).free();
      // Deferred: a woken caller may serve the consumer that this call is for. The callback may have asked
      // for another sample.
      queueMicrotask(() => {
        this.serve();
        work.available();
      });
    }
  }
}
