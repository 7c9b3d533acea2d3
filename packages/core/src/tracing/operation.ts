import type { TraceChannel, ServedBy } from './channels.js';
import type { OperationOptions } from '../driver/driver.js';

/** Is told of each read that was served: how, and by which tier if a copy served it. */
export type OnServed = (by: ServedBy, level?: number) => void;

/** Options of a read, with who traces it. */
export interface TracedOptions extends OperationOptions {
  /** Called once for each read that was served. Undefined where nobody traces it. */
  readonly onServed?: OnServed | undefined;
}

/**
 * Tells subscribers that an operation begins, and runs what begins it as a part of it: what is traced in
 * there, now or later, is traced as its child.
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

/** Tells subscribers that an operation has ended, in the order that `TracingChannel.tracePromise` keeps. */
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
