import type { Clock, StorageDriver } from '@tiered/core';
import { own } from '@tiered/core/internal';
import { Pace } from '../pacing/pace.js';
import { PacedDriver } from '../pacing/paced-driver.js';
import type { RateRecord, SourceReport, Stage } from '../records/stage-record.js';
import { NO_RATE, type Rate } from '../shares/rate.js';
import { recordOf } from '../shares/terms.js';
import { Demand, type Consumed } from './demand.js';
import { MeasuredBudget, type Load } from './measured-budget.js';

/** A source as one stage uses it: its drivers behind one share, and the stage's reports on it. */
export class StageSource {
  readonly name: string;
  readonly #pace: Pace;
  readonly #clock: Clock;
  readonly #demand: Demand;
  readonly #measured = new MeasuredBudget();
  readonly #budget: RateRecord | undefined;

  constructor(name: string, budget: RateRecord | undefined, clock: Clock) {
    this.name = name;
    this.#budget = budget;
    this.#clock = clock;
    this.#pace = new Pace(clock);
    this.#demand = new Demand(clock, this.#pace.counts);
  }

  /** Limits a driver to the share. */
  around(driver: StorageDriver): StorageDriver {
    return new PacedDriver(driver, this.#pace, this.#clock);
  }

  /** The share in force. */
  get share(): Rate {
    return this.#pace.rate;
  }

  /** Sets another share. */
  follow(share: Rate): void {
    this.#pace.set(share);
  }

  /** The report on a source that has not been read yet. */
  get unknown(): SourceReport {
    return { used: NO_RATE, wanted: {}, waits: 0, budget: this.#budget };
  }

  /**
   * Reports the stage's use of the source, and the use it could make.
   * @param isSaturated Whether all stages together use the full capacity of the source.
   */
  report(consumed: Consumed | undefined, isSaturated: boolean): SourceReport {
    const { used, wanted, waits, requestMs } = this.#demand.look(this.#pace.counts, consumed, isSaturated);
    return {
      used,
      wanted: recordOf(wanted),
      waits,
      requestMs,
      budget: this.#budget,
      measured: this.#measured.bytes,
    };
  }

  /** Measures the load of all stages, if no budget of the source was given. */
  learn(stages: readonly Stage[]): void {
    if (this.#budget !== undefined) return;
    const readers = stages.filter((stage) => own(stage.sources, this.name) !== undefined);
    const areSeveral = readers.some(({ job }) => job !== readers[0]?.job);
    const load = loadOf(readers.flatMap((stage) => own(stage.sources, this.name) ?? []));
    this.#measured.look({ ...load, areSeveral });
  }
}

/** The fraction of the time with waiting requests from which a stage counts as bound by its share. */
const BOUND_FROM = 0.1;

function loadOf(reports: readonly SourceReport[]): Omit<Load, 'areSeveral'> {
  let [bytes, operations, ms, isBound] = [0, 0, 0, false];
  for (const { used, requestMs, waits } of reports) {
    bytes += used.bytes;
    isBound ||= waits > BOUND_FROM;
    if (requestMs === undefined) continue;
    operations += used.operations;
    ms += requestMs * used.operations;
  }
  const requestBytes = operations === 0 ? 0 : bytes / operations;
  return { bytes, isBound, requestBytes, requestMs: operations === 0 ? undefined : ms / operations };
}
