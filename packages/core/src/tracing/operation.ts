import type { TraceChannel } from './channels.js';

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
