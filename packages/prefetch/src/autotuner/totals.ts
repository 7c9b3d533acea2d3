import type { TuningObservation } from './autotuner.js';

/**
 * Part of the time in which somebody may wait before it counts: less is chance, and costs less than it takes
 * to find out.
 */
const SOMETIMES = 0.03;

/**
 * Bytes that an operation counts for, so that empty objects are work too. Few, because a link that is the
 * limit passes the same bytes each second, whatever the sizes of the objects: counted by objects its
 * throughput would look unsteady.
 */
const OPERATION_BYTES = 64;

/** What several observations come to. */
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

  /** With one more observation, or several. */
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
   * Work a millisecond: what was read, and where nobody starved no more than was taken, for reading into a
   * buffer that nobody waits for is no gain.
   */
  get rate(): number {
    const read = this.bytes + this.samples * OPERATION_BYTES;
    const taken = this.takenBytes + this.taken * OPERATION_BYTES;
    return share(this.starved ? read : Math.min(read, taken), this.elapsedMs);
  }

  /** The part of what was read that was taken, at most 1: less where memory is still being filled. */
  get takenShare(): number {
    return this.samples > this.taken ? this.taken / this.samples : 1;
  }

  /** Whether consumers waited, and not by chance. */
  get starved(): boolean {
    return this.starvedShare > SOMETIMES;
  }

  /** Whether producers stood still for lack of room, and not by chance. */
  get full(): boolean {
    return this.fullShare > SOMETIMES;
  }

  get starvedShare(): number {
    return share(this.starvedMs, this.elapsedMs);
  }

  get fullShare(): number {
    return share(this.fullMs, this.elapsedMs);
  }

  /** Producers at work, in the mean. */
  get busy(): number {
    return share(this.busyMs, this.elapsedMs);
  }

  /** Bytes of an object, in the mean. */
  get objectBytes(): number {
    return share(this.bytes, this.samples);
  }

  /** Milliseconds of a read, in the mean. */
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
