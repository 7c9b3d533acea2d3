import type { TraceChannel, ServedBy } from './channels.js';
import type { OperationOptions } from '../driver/driver.js';

/**
 * Called for each read that was served, with the kind of place that served it, and the tier if a copy did.
 */
export type OnServed = (by: ServedBy, level?: number) => void;

/** Options of a read, with its tracer. */
export interface TracedOptions extends OperationOptions {
  /** Called once for each read that was served. Undefined if the read is not traced. */
  readonly onServed?: OnServed | undefined;
}

/**
 * Announces the start of an operation to subscribers, and runs `begin` as a part of it. Operations that are
 * traced in there, now or later, become its children.
 */
export function traceStart<Context extends object, T>(
  channel: TraceChannel<Context>,
  context: Context,
  begin: () => T,
): T {
  try {
    return channel.start.runStores(context, begin);
  } finally {
    channel.end.publish(context);
  }
}

/** Announces the end of an operation to subscribers, in the order of `TracingChannel.tracePromise`. */
export function traceEnd<Context extends object & { error?: unknown }>(
  channel: TraceChannel<Context>,
  context: Context,
  failure?: { readonly error: unknown },
): void {
  if (failure !== undefined) {
    context.error = failure.error;
    channel.error.publish(context);
  }
  channel.asyncStart.publish(context);
  channel.asyncEnd.publish(context);
}
