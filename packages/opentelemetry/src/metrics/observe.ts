import { metrics, type Attributes, type MeterProvider, type Observable } from '@opentelemetry/api';

/** Options shared by all metrics. */
export interface MetricsOptions {
  /**
   * Creates the meter. Default: the global provider, which must be registered before, because OpenTelemetry
   * does not hand metrics over to a provider that is registered later.
   */
  readonly meterProvider?: MeterProvider | undefined;
  /**
   * Attributes of all measurements, such as the rank of a worker. Few values, and never keys. Default: none.
   */
  readonly attributes?: Attributes | undefined;
}

/** A metric: its name, and how to get its measurements from a snapshot. */
export interface Metric<Snapshot> {
  readonly name: string;
  /**
   * `count` only grows, `sum` may fall and adds up over processes, `gauge` may fall and does not add up.
   */
  readonly kind: 'count' | 'sum' | 'gauge';
  readonly unit: string;
  readonly description: string;
  readonly of: (snapshot: Snapshot) => readonly Measurement[];
}

/** A value, and the attributes that tell it apart from others of its metric. */
export type Measurement = readonly [value: number, attributes?: Attributes];

const MAKERS = {
  count: 'createObservableCounter',
  sum: 'createObservableUpDownCounter',
  gauge: 'createObservableGauge',
} as const;

/** Takes a snapshot whenever metrics are collected. Returns a function that ends that. */
export function observe<Snapshot>(
  all: readonly Metric<Snapshot>[],
  snapshot: () => Snapshot,
  { meterProvider = metrics.getMeterProvider(), attributes }: MetricsOptions,
): () => void {
  const meter = meterProvider.getMeter('@tiered/opentelemetry');
  const instruments = all.map(({ name, kind, unit, description }): Observable =>
    meter[MAKERS[kind]](name, { unit, description }),
  );
  const callback: Parameters<typeof meter.addBatchObservableCallback>[0] = (result) => {
    const now = snapshot();
    for (const [i, metric] of all.entries()) {
      const instrument = instruments[i];
      if (instrument === undefined) continue;
      for (const [value, own] of metric.of(now)) result.observe(instrument, value, { ...attributes, ...own });
    }
  };
  meter.addBatchObservableCallback(callback, instruments);
  return () => meter.removeBatchObservableCallback(callback, instruments);
}
