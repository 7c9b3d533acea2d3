import { AggregatorRegistry, type Registry } from 'prom-client';

/** A metric as prom-client gives it. Its types make the type a number, which it is not. */
interface ToldMetric {
  readonly name: string;
  readonly type: unknown;
}

/** What a gateway tells those who watch. It may be sent to another process, as JSON too. */
export interface GatewayMetrics {
  /** What it counted, and holds for itself: these add up. */
  readonly own: readonly ToldMetric[];
  /** What each process tells alike, such as what is on a tier that they share. */
  readonly shared: readonly ToldMetric[];
}

/** Types of metrics that never go back. */
const LASTING: readonly unknown[] = ['counter', 'histogram'];

/**
 * Makes one text of what several processes tell, in the format of Prometheus. What they count is added up. Of
 * what they share, such as a tier on a disk, the first one is taken at its word.
 * @param told Of gateways with the same buckets and tiers.
 */
export function mergedMetrics(told: readonly GatewayMetrics[]): Promise<string> {
  const shared = told[0]?.shared ?? [];
  return merged([...told.map(({ own }) => own), shared]).metrics();
}

/**
 * What processes told that have ended, as far as it never goes back: their counters. Whoever watches would
 * take a lower sum for a new beginning, and count all of it again.
 */
export async function endedMetrics(told: readonly GatewayMetrics[]): Promise<GatewayMetrics> {
  const lasting = told.map(({ own }) => own.filter(({ type }) => LASTING.includes(type)));
  return { own: await merged(lasting).getMetricsAsJSON(), shared: [] };
}

function merged(lists: readonly (readonly ToldMetric[])[]): Registry {
  return AggregatorRegistry.aggregate(lists.map((list) => [...list]));
}
