import { AggregatorRegistry, type Registry } from 'prom-client';

/** A metric from prom-client. Its types declare the type as a number, which it is not. */
interface ToldMetric {
  readonly name: string;
  readonly type: unknown;
}

/** The metrics of a gateway. They may be sent to another process, as JSON too. */
export interface GatewayMetrics {
  /** Counters, and gauges of the process itself. These add up. */
  readonly own: readonly ToldMetric[];
  /** Metrics that all processes report alike, such as the contents of a tier that they share. */
  readonly shared: readonly ToldMetric[];
}

/** Types of metrics that never decrease. */
const LASTING: readonly unknown[] = ['counter', 'histogram'];

/**
 * Merges the metrics of several processes into one text, in the format of Prometheus. Their own metrics are
 * added up. Shared ones, such as those of a tier on a disk, are taken from the first process.
 * @param told Metrics of gateways with the same buckets and tiers.
 */
export function mergedMetrics(told: readonly GatewayMetrics[]): Promise<string> {
  const shared = told[0]?.shared ?? [];
  return merged([...told.map(({ own }) => own), shared]).metrics();
}

/**
 * The metrics of processes that have ended, as far as these never decrease: their counters. A monitoring
 * system would take a lower sum for a restart, and count all of it again.
 */
export async function endedMetrics(told: readonly GatewayMetrics[]): Promise<GatewayMetrics> {
  const lasting = told.map(({ own }) => own.filter(({ type }) => LASTING.includes(type)));
  return { own: await merged(lasting).getMetricsAsJSON(), shared: [] };
}

function merged(lists: readonly (readonly ToldMetric[])[]): Registry {
  return AggregatorRegistry.aggregate(lists.map((list) => [...list]));
}
