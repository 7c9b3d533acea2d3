import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/** Attributes as OTLP has them in JSON. */
type Attributes = readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];

/** A span as a collector gets it. */
export interface CollectedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** 2 for an error. */
  readonly status: { readonly code: number; readonly message?: string };
  readonly events: readonly { readonly name: string }[];
}

/** A metric as a collector gets it: its measurements, as `attribute=value` of what tells them apart. */
export interface CollectedMetric {
  readonly unit: string;
  readonly isMonotonic: boolean | undefined;
  readonly values: Readonly<Record<string, number>>;
}

/** A collector: takes traces and metrics by OTLP over HTTP, in JSON, at a port of 127.0.0.1. */
export class Collector implements AsyncDisposable {
  readonly spans: CollectedSpan[] = [];
  /** By name, as they came last. */
  metrics = new Map<string, CollectedMetric>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      void this.#take(request).then(() => {
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      });
    });
  }

  static async open(): Promise<Collector> {
    const collector = new Collector();
    await once(collector.#server.listen(0, '127.0.0.1'), 'listening');
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The spans of this name. */
  named(name: string): CollectedSpan[] {
    return this.spans.filter((span) => span.name === name);
  }

  async #take(request: IncomingMessage): Promise<void> {
    const body = await json(request);
    if (request.url === '/v1/traces') this.#takeSpans(body as Traces);
    if (request.url === '/v1/metrics') this.#takeMetrics(body as Metrics);
  }

  #takeSpans({ resourceSpans }: Traces): void {
    for (const { scopeSpans } of resourceSpans)
      for (const { spans } of scopeSpans)
        for (const span of spans)
          this.spans.push({
            ...span,
            parentSpanId: span.parentSpanId || undefined,
            attributes: plain(span.attributes),
          });
  }

  #takeMetrics({ resourceMetrics }: Metrics): void {
    this.metrics = new Map();
    for (const { scopeMetrics } of resourceMetrics)
      for (const { metrics } of scopeMetrics)
        for (const { name, unit, sum, gauge } of metrics) {
          const points = (sum ?? gauge)?.dataPoints ?? [];
          const values = points.map(({ attributes, asInt, asDouble }) => {
            const own = Object.entries(plain(attributes)).map(([key, value]) => `${key}=${String(value)}`);
            return [own.join(' '), Number(asInt ?? asDouble)] as const;
          });
          this.metrics.set(name, { unit, isMonotonic: sum?.isMonotonic, values: Object.fromEntries(values) });
        }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await once(this.#server.close(), 'close');
  }
}

interface Traces {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<CollectedSpan, 'attributes'> & { readonly attributes: Attributes })[];
    }[];
  }[];
}

interface Points {
  readonly isMonotonic?: boolean;
  readonly dataPoints: readonly {
    readonly attributes: Attributes;
    readonly asInt?: number | string;
    readonly asDouble?: number;
  }[];
}

interface Metrics {
  readonly resourceMetrics: readonly {
    readonly scopeMetrics: readonly {
      readonly metrics: readonly {
        readonly name: string;
        readonly unit: string;
        readonly sum?: Points;
        readonly gauge?: Points;
      }[];
    }[];
  }[];
}

/** What JSON calls `{ key, value: { intValue: 3 } }`. */
function plain(attributes: Attributes): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      'intValue' in value ? Number(value['intValue']) : Object.values(value)[0],
    ]),
  );
}
