import type { Hierarchy } from '@tiered/core';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { AccessLogEntry } from './access-log.js';
import { observeHierarchies } from './hierarchy-metrics.js';
import { observePeers } from './peer-metrics.js';
import type { PeerFigures } from './options.js';
import { mergedMetrics, type GatewayMetrics } from './merged-metrics.js';

/** The objects that are measured on demand. */
export interface MetricsParts {
  /** By bucket. */
  readonly hierarchies: ReadonlyMap<string, Hierarchy>;
  /** By bucket, for buckets that have peers. */
  readonly peers: ReadonlyMap<string, () => readonly PeerFigures[]>;
  readonly connections: () => number;
  readonly answering: () => number;
  readonly heldBytes: () => number;
}

/** Seconds until an answer begins. */
const BUCKETS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10];

/** The metrics of a gateway, in the text format of Prometheus. */
export class Metrics {
  readonly #registry = new Registry();
  /** Metrics that several processes share. */
  readonly #shared = new Registry();
  readonly #answers: Counter<'operation' | 'status'>;
  readonly #bytes: Counter<'from'>;
  readonly #broken: Counter;
  readonly #refused: Counter;
  readonly #began: Histogram<'from'>;

  constructor(parts: MetricsParts) {
    const registers = [this.#registry];
    const name = (end: string) => `tiered_gateway_${end}`;
    this.#answers = new Counter({
      name: name('answers_total'),
      help: 'Answers, by operation and status.',
      labelNames: ['operation', 'status'],
      registers,
    });
    this.#bytes = new Counter({
      name: name('bytes_total'),
      help: 'Bytes of objects that were sent, by the slowest level of their answer.',
      labelNames: ['from'],
      registers,
    });
    this.#broken = new Counter({
      name: name('broken_total'),
      help: 'Answers that broke off: the client went away or stopped reading, or the source failed.',
      registers,
    });
    this.#refused = new Counter({
      name: name('refused_connections_total'),
      help: 'Connections beyond the limit, which were closed at once.',
      registers,
    });
    this.#began = new Histogram({
      name: name('began_seconds'),
      help: 'Seconds until an answer with bytes of an object began.',
      labelNames: ['from'],
      buckets: BUCKETS,
      registers,
    });
    this.#gauge(name('connections'), 'Open connections.', parts.connections);
    this.#gauge(name('answering'), 'Requests that are being answered.', parts.answering);
    this.#gauge(name('held_bytes'), 'Memory of bytes on their way to clients.', parts.heldBytes);
    observePeers(parts.peers, this.#registry);
    observeHierarchies(parts.hierarchies, { own: this.#registry, shared: this.#shared });
  }

  /** Counts an answer that has ended. */
  count({ operation = 'none', status, bytes, from, beganMs, isBroken }: AccessLogEntry): void {
    this.#answers.inc({ operation, status: String(status) });
    if (isBroken) this.#broken.inc();
    if (from === undefined || bytes === 0) return;
    this.#bytes.inc({ from }, bytes);
    this.#began.observe({ from }, beganMs / 1000);
  }

  /** Counts a connection that was closed at once. */
  refused(): void {
    this.#refused.inc();
  }

  async told(): Promise<GatewayMetrics> {
    const [own, shared] = await Promise.all(
      [this.#registry, this.#shared].map((registry) => registry.getMetricsAsJSON()),
    );
    return { own: own ?? [], shared: shared ?? [] };
  }

  async text(): Promise<string> {
    return mergedMetrics([await this.told()]);
  }

  #gauge(name: string, help: string, value: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect() {
        this.set(value());
      },
    });
  }
}
