import type { Clock } from '@tiered/core';
import type {
  Autotuner,
  Tuning,
  TuningDecision,
  TuningEvent,
  TuningLimits,
  TuningObservation,
} from '../autotuner/autotuner.js';

/** Dependencies of a tuner. */
export interface TunerParts {
  /** Undefined to change nothing. */
  readonly autotuner: Autotuner | undefined;
  readonly fixed: Partial<Tuning>;
  readonly limits: Pick<TuningLimits, 'producers' | 'memoryBytes'>;
  readonly clock: Clock;
  /** Called when the tuning may have changed. */
  readonly onTuned: (event: TuningEvent) => void;
}

/** Decisions that are kept for the profile. */
const DECISIONS_KEPT = 256;

/**
 * Producers if nothing is tuned and no number is given: the number that PRISMA's autotuner ends at
 * (Cluster'21, section V).
 */
const UNTUNED_PRODUCERS = 4;

/** Asks an autotuner when a decision is due, and keeps its decisions within the limits. */
export class Tuner {
  readonly #parts: TunerParts;
  readonly #start: number;
  readonly #decisions: TuningEvent[] = [];
  #tuning: Tuning;
  #bounds: TunerParts['limits'] = { producers: Infinity, memoryBytes: Infinity };
  #lookAt = Infinity;
  #hasBegun = false;

  constructor(parts: TunerParts) {
    const { fixed, limits, clock } = parts;
    this.#parts = parts;
    this.#start = clock.now();
    this.#tuning = {
      producers: UNTUNED_PRODUCERS,
      memoryBytes: limits.memoryBytes,
      samples: Infinity,
      ...fixed,
    };
  }

  /** The current settings. */
  get tuning(): Tuning {
    const { producers, memoryBytes, samples } = this.#tuning;
    return {
      producers: Math.min(producers, this.#bounds.producers),
      memoryBytes: Math.min(memoryBytes, this.#bounds.memoryBytes),
      samples,
    };
  }

  /** Keeps all settings within these bounds from now on, including the fixed ones. */
  bound(bounds: TunerParts['limits']): void {
    this.#bounds = bounds;
  }

  /** The last decisions. */
  get decisions(): readonly TuningEvent[] {
    return [...this.#decisions];
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Whether an observation is due. */
  get isDue(): boolean {
    const { autotuner, clock } = this.#parts;
    return autotuner !== undefined && clock.now() >= this.#lookAt;
  }

  /** The first tuning, made when the size of the first object is known. */
  begin(objectBytes: number): void {
    this.#hasBegun = true;
    const { autotuner, limits, fixed } = this.#parts;
    if (autotuner !== undefined) this.#follow(autotuner.begin({ ...limits, fixed, objectBytes }), undefined);
  }

  decide(observation: TuningObservation): void {
    const { autotuner } = this.#parts;
    if (autotuner !== undefined) this.#follow(autotuner.decide(observation), observation);
  }

  #follow(decision: TuningDecision, observation: TuningObservation | undefined): void {
    const { autotuner, limits, fixed, clock, onTuned } = this.#parts;
    const now = clock.now();
    this.#lookAt = decision.nextInMs === undefined ? Infinity : now + decision.nextInMs;
    const { producers, memoryBytes, samples } = { ...decision.tuning, ...fixed };
    this.#tuning = {
      producers: Math.min(limits.producers, Math.max(1, Math.floor(producers))),
      memoryBytes: Math.min(limits.memoryBytes, memoryBytes),
      samples,
    };
    const atMs = now - this.#start;
    const event = { atMs, autotuner: autotuner?.name ?? 'none', observation, decision };
    if (this.#decisions.length === DECISIONS_KEPT) this.#decisions.shift();
    this.#decisions.push(event);
    onTuned(event);
  }
}
