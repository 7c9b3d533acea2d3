import type { Clock, StorageDriver } from '@tiered/core';
import { own } from '@tiered/core/internal';
import { Pace } from '../pacing/pace.js';
import { PacedDriver } from '../pacing/paced-driver.js';
import type { RateRecord, SourceReport, Stage } from '../records/stage-record.js';
import { NO_RATE, type Rate } from '../shares/rate.js';
import { recordOf } from '../shares/terms.js';
import { Demand, type Consumed } from './demand.js';
import { MeasuredBudget, type Load } from './measured-budget.js';

/** A source as one stage uses it: its drivers behind one share, and what the stage says of it. */
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

  /** Puts a driver behind the share. */
  around(driver: StorageDriver): StorageDriver {
    return new PacedDriver(driver, this.#pace, this.#clock);
  }

  /** The share in force. */
  get share(): Rate {
    return this.#pace.rate;
  }

  /** Goes by another share from now on. */
  follow(share: Rate): void {
    this.#pace.set(share);
  }

  /** What is said of a source that was not read yet. */
  get unknown(): SourceReport {
    return { used: NO_RATE, wanted: {}, waits: 0, budget: this.#budget };
  }

  /**
   * Looks what the stage did, and could do.
   * @param isSaturated Whether all stages together use all that the source gives.
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

  /** Learns what all stages do to the source, if nobody says what it gives. */
  learn(stages: readonly Stage[]): void {
    if (this.#budget !== undefined) return;
    const readers = stages.filter((stage) => own(stage.sources, this.name) !== undefined);
    const areSeveral = readers.some(({ job }) => job !== readers[0]?.job);
    const load = loadOf(readers.flatMap((stage) => own(stage.sources, this.name) ?? []));
    this.#measured.look({ ...load, areSeveral });
  }
}

/** From this part of the time on in which requests wait for it, the share of a stage bounds it. */
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
