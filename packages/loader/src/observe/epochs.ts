import type { Clock } from '@tiered/core';
import type { Clairvoyance } from '../clairvoyance.js';
import type { EpochProfile } from '@tiered/prefetch';

/** Measurements of one epoch of a loader. */
export interface LoaderEpoch {
  readonly epoch: number;
  /** Batches yielded to the training. */
  readonly batches: number;
  readonly samples: number;
  /**
   * Seconds from the request for its first batch to the request for the next epoch's, or until its last
   * batch.
   */
  readonly seconds: number;
  /** Seconds during which the training waited for a batch. */
  readonly waitedSeconds: number;
  /** The prefetcher's measurements: bytes, where they came from, and a verdict on the reading. */
  readonly reading: EpochProfile | undefined;
}

/** Measurements of a loader. */
export interface LoaderStats {
  /** The last 32 epochs. The last one may be in progress. */
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

/** Counts yielded batches by epoch. */
export class LoaderEpochs {
  readonly #clock: Clock;
  readonly #epochs: Counted[] = [];
  #begun = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Epochs with a yielded batch, including epochs that are no longer kept. */
  get begun(): number {
    return this.#begun;
  }

  /** Records a yielded batch that was requested at `begun`. */
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
