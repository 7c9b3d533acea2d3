import { tooLargeError } from '@tiered/core/internal';
import { prefetchChannel } from '@tiered/core/tracing';
import { identityOf, type SampleRequest } from '../request.js';
import { NO_BLOCK, type Block } from './arena.js';
import { Entry, TracedSample } from './entry.js';
import type { LookAhead, SizeFailure } from './look-ahead.js';
import type { QueuePorts } from './queue-ports.js';
import type { Room } from './room.js';
import type { Skips } from './skips.js';
import type { Window } from './window.js';

/** Limits on the samples that a producer takes at once. */
export interface BatchLimits {
  readonly samples: number;
  readonly bytes: number;
}

/** Dependencies of an admission. */
export interface AdmissionParts {
  /** The name of the source, for traces. */
  readonly hierarchy: string | undefined;
  readonly ports: QueuePorts;
  readonly ahead: LookAhead;
  readonly window: Window;
  readonly room: Room;
  readonly skips: Skips;
  /** Whether an entry is held for a consumer that reads its object by name, so that no producer reads it. */
  readonly hold: (entry: Entry, failure: SizeFailure) => boolean;
  /** Called for each entry that is ready or has failed. */
  readonly onSettled: (entry: Entry) => void;
}

/**
 * Admits samples to the window, strictly in the order of their sequence, each with its memory. A sample that
 * cannot be read at all gets a place too, and fails there.
 */
export class Admission {
  readonly #parts: AdmissionParts;
  /** Admitted samples. */
  count = 0;
  /** Admitted samples whose object was already ready or being read. */
  repeated = 0;
  /** Whether the next sample had no room at the last attempt. */
  isFull = false;
  /** The request that was last tried, so that one without room is reported only once. */
  #refused: SampleRequest | undefined;
  /**
   * The entry that stands for the failure of the sequence itself. It is not a sample, and is never skipped.
   */
  #broken: Entry | undefined;

  constructor(parts: AdmissionParts) {
    this.#parts = parts;
  }

  /** Size of the next object in bytes, if known. */
  get upcomingBytes(): number | undefined {
    const { ahead } = this.#parts;
    return this.#peek() === undefined || ahead.failure !== undefined ? undefined : ahead.size;
  }

  /**
   * Admits the next samples, as many as a producer reads at once and as there is room for. Returns the
   * entries to read.
   */
  admit(limits: BatchLimits): Entry[] {
    const { ports, ahead, window, room, hold } = this.#parts;
    const batch: Entry[] = [];
    let bytes = 0;
    this.isFull = false;
    while (batch.length < limits.samples && !room.areProducersBusy) {
      const next = this.#peek();
      // Read these first: entering the sample forgets them.
      const { size, failure } = ahead;
      if (next === undefined || (batch.length > 0 && bytes + size > limits.bytes)) break;
      const block = this.#blockFor(next, size);
      this.isFull = block === undefined;
      if (block === undefined && this.#refused !== next) ports.flow.refused();
      this.#refused = next;
      if (block === undefined) break;
      const same = window.find(identityOf(next));
      const entry = this.#traced(this.#enter(next, size, block));
      bytes += size;
      if (hold(entry, failure)) continue;
      // An object that is ready or being read is not read again.
      if (failure !== undefined) this.fail(entry, failure.error);
      else if (same?.state === 'reading' || same?.state === 'ready') {
        entry.follow(same);
        this.repeated += 1;
      } else batch.push(entry);
    }
    return batch;
  }

  /**
   * Fails a read that cannot even begin, at the place of its sample. This ends reading ahead, unless the
   * sample is skipped.
   */
  fail(entry: Entry, error: unknown): void {
    const { skips, ports, ahead } = this.#parts;
    if (skips.areAllowed) ports.work.available();
    else ahead.end();
    entry.fail(error);
  }

  /** Whether an entry stands for the failure of the sequence itself. */
  isBroken(entry: Entry): boolean {
    return entry === this.#broken;
  }

  #peek(): SampleRequest | undefined {
    const { ahead } = this.#parts;
    try {
      return ahead.peek();
    } catch (error) {
      // A failed sequence has no more accesses.
      ahead.end();
      this.#broken = this.#enter(ahead.place, 0, NO_BLOCK);
      this.#broken.fail(error);
      return undefined;
    }
  }

  #blockFor(request: SampleRequest, size: number): Block | undefined {
    try {
      return this.#parts.room.take(size);
    } catch (error) {
      this.fail(this.#traced(this.#enter(request, 0, NO_BLOCK)), tooLargeError(request.key, size, error));
      return undefined;
    }
  }

  /** Traces a sample, if there are subscribers. */
  #traced(entry: Entry): Entry {
    if (prefetchChannel.hasSubscribers) entry.trace = new TracedSample(this.#parts.hierarchy, entry);
    return entry;
  }

  #enter(request: SampleRequest, size: number, block: Block): Entry {
    const { ahead, ports, window, onSettled } = this.#parts;
    ahead.advance();
    const entry = new Entry(request, size, this.count, block, ports.memory, onSettled);
    this.count += 1;
    window.add(entry);
    return entry;
  }
}
