import { grouped, own } from '@tiered/core/internal';
import type { PolicyRecord, Stage } from '../records/stage-record.js';
import { maxMin, PLAIN_CLAIM } from './max-min.js';
import { termsOf } from './terms.js';

/** A stage's share of its node. */
export interface NodeShare {
  /** Bytes of memory. */
  readonly memory: number;
  /** Requests at a time. */
  readonly producers: number;
}

/** Shares out the limits that operators set for the stages of a node, by weighted max-min. Keyed by stage. */
export function shareNodes(
  stages: readonly Stage[],
  policy: PolicyRecord | undefined,
): Map<string, NodeShare> {
  const shares = new Map<string, NodeShare>();
  for (const [node, here] of grouped(stages, (stage) => stage.node)) {
    const { memory = Infinity, producers = Infinity } =
      own(policy?.nodes, node) ?? own(policy?.nodes, '*') ?? {};
    const weights = weightsOf(here, policy);
    const claim = (wanted: readonly number[]) =>
      here.map((_, at) => ({ ...PLAIN_CLAIM, weight: weights[at] ?? 1, wanted: wanted[at] ?? 0 }));
    const memories = maxMin(memory, claim(here.map((stage) => stage.memory?.most ?? 0)));
    const places = maxMin(producers, claim(here.map((stage) => stage.producers?.most ?? 0)));
    for (const [at, { id }] of here.entries())
      shares.set(id, {
        memory: memory === Infinity ? Infinity : Math.max(1, Math.floor(memories[at] ?? 0)),
        producers: producers === Infinity ? Infinity : Math.max(1, Math.floor(places[at] ?? 0)),
      });
  }
  return shares;
}

/** The stages of a job on a node share its weight. */
function weightsOf(stages: readonly Stage[], policy: PolicyRecord | undefined): number[] {
  const counts = grouped(stages, ({ job }) => job);
  return stages.map(({ job, terms }) => {
    const { weight } = termsOf(terms, own(policy?.jobs, job) ?? {});
    return weight / (counts.get(job)?.length ?? 1);
  });
}
