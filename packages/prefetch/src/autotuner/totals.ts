import type { TuningObservation } from './autotuner.js';

/** Waiting for no more than this part of the time is chance, and costs less than finding out why. */
const SOMETIMES = 0.03;

/**
 * Bytes that each read counts for in addition to its own, so that empty objects are work too. It is little,
 * because a link that is the limit passes the same bytes each second whatever the sizes of objects. If
 * objects were counted, its throughput would look unsteady.
 */
const OPERATION_BYTES = 64;

/** The sum of several observations. */
export class Totals {
  readonly elapsedMs: number = 0;
  readonly samples: number = 0;
  readonly bytes: number = 0;
  readonly readMs: number = 0;
  readonly taken: number = 0;
  readonly takenBytes: number = 0;
  readonly starvedMs: number = 0;
  readonly fullMs: number = 0;
  readonly busyMs: number = 0;

  /** Returns the sum of this and another. */
  plus(other: Totals): Totals {
    const sum: { -readonly [Field in keyof Totals]?: Totals[Field] } = {};
    for (const field of FIELDS) sum[field] = this[field] + other[field];
    return Object.assign(new Totals(), sum);
  }

  static of(observation: TuningObservation): Totals {
    const { elapsedMs, read, taken, starvedMs, fullMs, busyProducers } = observation;
    return Object.assign(new Totals(), {
      elapsedMs,
      samples: read.samples,
      bytes: read.bytes,
      readMs: read.ms,
      taken: taken.samples,
      takenBytes: taken.bytes,
      starvedMs,
      fullMs,
      busyMs: busyProducers * elapsedMs,
    });
  }

  /**
   * Work per millisecond. If consumers starved, it is what was read. If they did not, it is at most what was
   * taken, because reading into a buffer without waiting consumers is no gain.
   */
  get rate(): number {
    const read = this.bytes + this.samples * OPERATION_BYTES;
    const taken = this.takenBytes + this.taken * OPERATION_BYTES;
    return share(this.starved ? read : Math.min(read, taken), this.elapsedMs);
  }

  /** The taken part of all that was read, at most 1. It is less while memory is still being filled. */
  get takenShare(): number {
    return this.samples > this.taken ? this.taken / this.samples : 1;
  }

  /** Whether consumers waited for longer than chance explains. */
  get starved(): boolean {
    return this.starvedShare > SOMETIMES;
  }

  /** Whether producers were idle for lack of room for longer than chance explains. */
  get full(): boolean {
    return this.fullShare > SOMETIMES;
  }

  get starvedShare(): number {
    return share(this.starvedMs, this.elapsedMs);
  }

  get fullShare(): number {
    return share(this.fullMs, this.elapsedMs);
  }

  /** Mean number of producers at work. */
  get busy(): number {
    return share(this.busyMs, this.elapsedMs);
  }

  /** Mean bytes of an object. */
  get objectBytes(): number {
    return share(this.bytes, this.samples);
  }

  /** Mean milliseconds of a read. */
  get durationMs(): number {
    return share(this.readMs, this.samples);
  }
}

const FIELDS = [
  'elapsedMs',
  'samples',
  'bytes',
  'readMs',
  'taken',
  'takenBytes',
  'starvedMs',
  'fullMs',
  'busyMs',
] as const;

function share(part: number, whole: number): number {
  return whole > 0 ? part / whole : 0;
}
