import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { Collector } from './collector.js';

/** A meter provider that exports to a collector of the test's own when it is told to. */
export async function metered() {
  const collector = await Collector.open();
  const exporter = new OTLPMetricExporter({ url: `${collector.url}/v1/metrics` });
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 30 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  onTestFinished(async () => {
    await meterProvider.shutdown();
    await collector[Symbol.asyncDispose]();
  });
  const collected = async () => {
    await meterProvider.forceFlush();
    return collector.metrics;
  };
  return { meterProvider, collected };
}

/** A page of metrics as Prometheus gets it, by an exporter behind a server of the test's own. */
export async function scraped() {
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const meterProvider = new MeterProvider({ readers: [exporter] });
  const server = createServer((request, response) => exporter.getMetricsRequestHandler(request, response));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    await once(server.close(), 'close');
    await meterProvider.shutdown();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`;
  return { meterProvider, page: async () => (await fetch(url)).text() };
}

/** The values of all metrics, by their names and attributes. */
export const valuesOf = (all: Awaited<ReturnType<Awaited<ReturnType<typeof metered>>['collected']>>) =>
  Object.fromEntries([...all].map(([name, { values }]) => [name, values]));
