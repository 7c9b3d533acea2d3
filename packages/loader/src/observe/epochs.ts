import type { Clock } from '@tiered/core';
import type { Clairvoyance } from '../clairvoyance.js';
import type { EpochProfile } from '@tiered/prefetch';

/** What was measured of one epoch of a loader. */
export interface LoaderEpoch {
  readonly epoch: number;
  /** Given to the training. */
  readonly batches: number;
  readonly samples: number;
  /** Seconds from the first batch that was asked for to the last that was given, or to the next epoch's. */
  readonly seconds: number;
  /** Seconds in which the training waited for a batch. */
  readonly waitedSeconds: number;
  /** What the prefetcher measured: bytes, where they came from, and a verdict on the reading. */
  readonly reading: EpochProfile | undefined;
}

/** What a loader measured. */
export interface LoaderStats {
  /** The last 32 epochs. The last of them may be under way. */
  readonly epochs: readonly LoaderEpoch[];
  /** Damaged samples that were left out. */
  readonly skipped: number;
  /** Undefined without the option `clairvoyant`. */
  readonly clairvoyance: Clairvoyance | undefined;
}

const EPOCHS_KEPT = 32;

interface Counted {
  readonly epoch: number;
  readonly begun: number;
  ended: number;
  batches: number;
  samples: number;
  waitedMs: number;
}

/** Counts what is given, by epoch. */
export class LoaderEpochs {
  readonly #clock: Clock;
  readonly #epochs: Counted[] = [];
  #begun = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Epochs that a batch was given of, also those that are not kept any more. */
  get begun(): number {
    return this.#begun;
  }

  /** A batch was given, which had been asked for at `begun`. */
  given({
    epoch,
    samples,
    begun,
  }: {
    readonly epoch: number;
    readonly samples: number;
    readonly begun: number;
  }): void {
    const now = this.#clock.now();
    let counted = this.#epochs.at(-1);
    if (counted?.epoch !== epoch) {
      counted = { epoch, begun, ended: now, batches: 0, samples: 0, waitedMs: 0 };
      this.#epochs.push(counted);
      this.#begun += 1;
      if (this.#epochs.length > EPOCHS_KEPT) this.#epochs.shift();
    }
    counted.ended = now;
    counted.batches += 1;
    counted.samples += samples;
    counted.waitedMs += now - begun;
  }

  figures(profiles: readonly EpochProfile[]): LoaderEpoch[] {
    return this.#epochs.map(({ epoch, begun, ended, batches, samples, waitedMs }, i) => ({
      epoch,
      batches,
      samples,
      // The computation after the last batch belongs to its epoch.
      seconds: ((this.#epochs[i + 1]?.begun ?? ended) - begun) / 1000,
      waitedSeconds: waitedMs / 1000,
      reading: profiles.find((profile) => profile.epoch === epoch),
    }));
  }
}
