import { Random } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import type { S3Operation } from '../protocol/requests.js';
import { BEFALLS, type Fault, type FaultPlan, type FaultRule } from './fault-plan.js';

/** The faults of one request. */
export interface Misfortune {
  /** Milliseconds that the request waits before it is carried out. */
  readonly latencyMs: number;
  readonly fault: Fault | undefined;
}

const NOTHING: Misfortune = { latencyMs: 0, fault: undefined };

/** The 99th percentile of the normal distribution. */
const QUANTILE_99 = 2.3263478740408408;

/** Decides which faults each request gets. The same seed, plan and order of requests give the same faults. */
export class Faults {
  /** The number of injected faults of each kind. */
  readonly injected: Partial<Record<Fault['kind'], number>> = {};
  readonly #random: Random;
  #plan: FaultPlan = [];
  #matches: number[] = [];
  #befallen: number[] = [];

  constructor(seed: number, plan: FaultPlan) {
    this.#random = new Random(seed);
    this.set(plan);
  }

  /**
   * Replaces the plan, with the counts of all rules at zero. Requests in flight keep their faults.
   * @throws TieredError `TIERED_CONFIG_INVALID` for a rule that can never apply.
   */
  set(plan: FaultPlan): void {
    for (const [index, rule] of plan.entries()) checkRule(rule, `faults[${index}]`);
    this.#plan = plan;
    this.#matches = plan.map(() => 0);
    this.#befallen = plan.map(() => 0);
  }

  /** Draws a whole number from 0 to `bound` - 1. */
  below(bound: number): number {
    return this.#random.below(bound);
  }

  /** Draws the faults of one request. */
  next(operation: S3Operation, key: string): Misfortune {
    if (this.#plan.length === 0) return NOTHING;
    let latencyMs = 0;
    let fault: Fault | undefined;
    for (const [index, rule] of this.#plan.entries()) {
      if (rule.fault.kind !== 'latency' && fault !== undefined) continue;
      if (!matches(rule, operation, key) || !this.#strikes(rule, index)) continue;
      this.injected[rule.fault.kind] = (this.injected[rule.fault.kind] ?? 0) + 1;
      if (rule.fault.kind === 'latency') latencyMs += this.#latency(rule.fault);
      else fault = rule.fault;
    }
    return { latencyMs, fault };
  }

  #strikes({ after = 0, times = Infinity, probability = 1 }: FaultRule, index: number): boolean {
    const match = (this.#matches[index] ?? 0) + 1;
    this.#matches[index] = match;
    const befallen = this.#befallen[index] ?? 0;
    if (match <= after || befallen >= times) return false;
    if (probability < 1 && this.#random.unit() >= probability) return false;
    this.#befallen[index] = befallen + 1;
    return true;
  }

  #latency({ medianMs, p99OverMedian = 1 }: Fault & { readonly kind: 'latency' }): number {
    const sigma = Math.log(p99OverMedian) / QUANTILE_99;
    return medianMs * Math.exp(sigma * this.#random.normal());
  }
}

function matches(
  { fault, operation: only, key: wanted }: FaultRule,
  operation: S3Operation,
  key: string,
): boolean {
  if (only !== undefined && only !== operation) return false;
  if (BEFALLS[fault.kind]?.includes(operation) === false) return false;
  if (wanted === undefined) return true;
  // `test` would not do: with a global pattern it remembers its last match.
  return typeof wanted === 'string' ? key === wanted : key.search(wanted) !== -1;
}

function checkRule(
  { operation, probability = 1, times = 0, after = 0, fault }: FaultRule,
  field: string,
): void {
  if (operation !== undefined && BEFALLS[fault.kind]?.includes(operation) === false)
    throw configError(`${field}.operation`, `${String(BEFALLS[fault.kind])} for ${fault.kind}`, operation);
  if (!(probability >= 0 && probability <= 1))
    throw configError(`${field}.probability`, 'a number from 0 to 1', probability);
  if (!(times >= 0)) throw configError(`${field}.times`, 'a number of at least 0', times);
  if (!(after >= 0)) throw configError(`${field}.after`, 'a number of at least 0', after);
  if (fault.kind === 'latency' && !(fault.medianMs >= 0 && (fault.p99OverMedian ?? 1) >= 1))
    throw configError(`${field}.fault`, 'medianMs of at least 0 and p99OverMedian of at least 1', fault);
}
