import { AsyncLocalStorage } from 'node:async_hooks';
import {
  context,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
  type Tracer,
} from '@opentelemetry/api';
import { isTieredError } from '@tiered/core';
import type { TraceChannel } from '@tiered/core/tracing';

/** The span of ours that is active at a lookup, and the one that was active around it when it began. */
interface Current {
  readonly own: Context;
  readonly around: Context;
}

/** Options shared by the spans of all channels. */
export interface SpanMakerParts {
  readonly tracer: Tracer;
  /** Whether spans contain the keys of objects, and messages of errors, which contain keys too. */
  readonly keys: boolean;
}

/** The attributes of one operation's spans, apart from the key. */
export interface Described<Context> {
  /** Known when the span begins, so that samplers see it. */
  readonly atStart: (context: Context) => Attributes;
  readonly atEnd: (context: Context) => Attributes;
}

/** The common content of the channels' messages. */
interface Traced {
  readonly key: string | undefined;
  readonly error?: unknown;
}

/**
 * Creates a span for each operation of a channel.
 *
 * A channel can only bind a storage of ours to an operation. It cannot activate a context of OpenTelemetry.
 * So the parent span is looked up here: ours, unless the program has activated another one within it.
 */
export class SpanMaker {
  readonly #parts: SpanMakerParts;
  readonly #current = new AsyncLocalStorage<Current>();

  constructor(parts: SpanMakerParts) {
    this.#parts = parts;
  }

  /**
   * Starts to create spans. Returns a function that ends that: operations in flight then get no end, and are
   * not exported.
   * @param isRoot Whether an operation is unrelated to the context that is active where it begins.
   */
  follow<Operation extends Traced>(
    channel: TraceChannel<Operation>,
    name: string,
    described: Described<Operation>,
    isRoot: (operation: Operation) => boolean,
  ): () => void {
    const spans = new WeakMap<Operation, Span>();
    channel.start.bindStore(this.#current, (operation) => {
      const around = context.active();
      const span = this.#begin(name, operation, described, isRoot(operation));
      spans.set(operation, span);
      return { own: trace.setSpan(around, span), around };
    });
    const subscriber = {
      asyncEnd: (operation: Operation) => {
        const span = spans.get(operation);
        if (span !== undefined) this.#end(span, operation, described);
      },
    };
    channel.subscribe(subscriber);
    return () => {
      channel.start.unbindStore(this.#current);
      channel.unsubscribe(subscriber);
    };
  }

  get #parent(): Context {
    const active = context.active();
    const current = this.#current.getStore();
    return current?.around === active ? current.own : active;
  }

  #begin<Operation extends Traced>(
    name: string,
    operation: Operation,
    { atStart }: Described<Operation>,
    root: boolean,
  ): Span {
    const { tracer, keys } = this.#parts;
    const key = keys ? operation.key : undefined;
    const attributes = { ...atStart(operation), ...(key !== undefined && { 'tiered.object.key': key }) };
    return tracer.startSpan(name, { attributes, root }, this.#parent);
  }

  #end<Operation extends Traced>(span: Span, operation: Operation, { atEnd }: Described<Operation>): void {
    if (span.isRecording()) {
      span.setAttributes(atEnd(operation));
      if (operation.error !== undefined) this.#fail(span, operation.error);
    }
    span.end();
  }

  #fail(span: Span, error: unknown): void {
    span.setAttribute('error.type', typeOf(error));
    if (!this.#parts.keys || !(error instanceof Error)) {
      span.setStatus({ code: SpanStatusCode.ERROR });
      return;
    }
    span.recordException(error);
    span.setStatus({ code: SpanStatusCode.ERROR, message: error.message });
  }
}

/** The code of an error, or its class. */
function typeOf(error: unknown): string {
  if (isTieredError(error)) return error.code;
  return error instanceof Error ? error.name : '_OTHER';
}
