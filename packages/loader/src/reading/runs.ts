import type { SampleSet } from '@tiered/formats';
import type { Parts } from '../order/parts.js';

/** The least bytes of a run, if its object has as many. */
const RUN_BYTES = 2 ** 20;

/** The largest gap between two records that is read over instead of splitting a run. */
const MOST_BETWEEN = 64 * 1024;

/**
 * Groups neighbouring records into runs that are read at once, the same in every epoch. Records whose samples
 * cannot be read singly stay whole.
 */
export class Runs {
  readonly count: number;
  readonly samples: number;
  readonly #part: SampleSet;
  /** The first record by run, and the end. */
  readonly #firstRecord: Uint32Array;

  constructor(part: SampleSet, runBytes = RUN_BYTES) {
    this.#part = part;
    this.samples = part.samples;
    const firsts: number[] = [];
    let begin = 0;
    let end = 0;
    for (let record = 0; record < part.records; record++) {
      const offset = part.offsetOf(record);
      const isNext =
        record > 0 &&
        part.objectOf(record) === part.objectOf(record - 1) &&
        offset - end <= MOST_BETWEEN &&
        end - begin < runBytes;
      if (!isNext) {
        firsts.push(record);
        begin = offset;
      }
      end = offset + part.lengthOf(record);
    }
    this.count = firsts.length;
    this.#firstRecord = Uint32Array.from([...firsts, part.records]);
  }

  firstRecordOf(run: number): number {
    return this.#firstRecord[run] ?? 0;
  }

  firstSampleOf(run: number): number {
    return this.#part.firstSampleOf(this.firstRecordOf(run));
  }

  samplesOf(run: number): number {
    return this.firstSampleOf(run + 1) - this.firstSampleOf(run);
  }

  /** The first byte of a run in its object. */
  offsetOf(run: number): number {
    return this.#part.offsetOf(this.firstRecordOf(run));
  }

  /** Bytes from the first record of a run to the end of its last. */
  bytesOf(run: number): number {
    const last = this.firstRecordOf(run + 1) - 1;
    return this.#part.offsetOf(last) + this.#part.lengthOf(last) - this.offsetOf(run);
  }

  /** The run that a record is in. O(log runs). */
  runOf(record: number): number {
    let [low, high] = [0, this.count];
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if (this.firstRecordOf(middle) <= record) low = middle;
      else high = middle;
    }
    return low;
  }
}

/** The runs of each part. */
export function runsOf(parts: Parts): readonly Runs[] {
  return parts.list.map(({ samples }) => new Runs(samples));
}
