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

/** A span of ours that is under way where it is looked up, and what was active around it when it began. */
interface Current {
  readonly own: Context;
  readonly around: Context;
}

/** What spans of all channels have in common. */
export interface SpanMakerParts {
  readonly tracer: Tracer;
  /** Whether spans have the keys of objects, and messages of errors, which have them too. */
  readonly keys: boolean;
}

/** What the spans of one operation say, apart from the key. */
export interface Described<Context> {
  /** Known when it begins, so that samplers see it. */
  readonly atStart: (context: Context) => Attributes;
  readonly atEnd: (context: Context) => Attributes;
}

/** What the channels say of every operation. */
interface Traced {
  readonly key: string | undefined;
  readonly error?: unknown;
}

/**
 * Makes a span of each operation of a channel.
 *
 * A channel can only bind a storage of ours to an operation, and not activate a context of OpenTelemetry. So
 * which span is the parent is looked up here: ours, unless the program has activated another one within it.
 */
export class SpanMaker {
  readonly #parts: SpanMakerParts;
  readonly #current = new AsyncLocalStorage<Current>();

  constructor(parts: SpanMakerParts) {
    this.#parts = parts;
  }

  /**
   * Begins to make spans. Returns what ends that: operations under way then get no end, and are not exported.
   * @param isRoot Whether an operation has nothing to do with what happens to be active where it begins.
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
