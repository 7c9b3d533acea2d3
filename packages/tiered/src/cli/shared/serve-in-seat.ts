import { onAbort } from '@tiered/core/internal';
import { once } from 'node:events';
import fs from 'node:fs';
import type { CommandHost } from '../host.js';
import { untilInterrupted } from '../interrupt.js';
import { factsOf, openGateway, totalsOf, type ServeOptions } from './gateway.js';
import type { FromSeat, ServeSeat, ToSeat } from './serve-seat.js';

/**
 * Serves as one of several processes, until a signal or the process that started it ends it. If that process
 * is gone, Node ends this one at once.
 */
export async function serveInSeat(
  host: CommandHost,
  what: readonly string[],
  options: ServeOptions,
  seat: ServeSeat,
): Promise<void> {
  const ending = new AbortController();
  const take = (message: ToSeat) => {
    if (message.kind === 'end') ending.abort(new Error('All processes end.'));
  };
  process.on('message', take);
  process.once('exit', () => {
    // Otherwise the other process clears up.
    if (!process.connected) fs.rmSync(seat.manifests, { recursive: true, force: true });
  });
  try {
    await untilInterrupted(host.clock, async (signal) => {
      const stopListening = onAbort(signal, (reason) => ending.abort(reason));
      try {
        await serve(host, what, options, seat, ending.signal);
      } finally {
        stopListening();
      }
    });
  } catch (error) {
    // The other process says that the command was interrupted.
    if (!ending.signal.aborted) throw error;
  } finally {
    process.off('message', take);
    process.channel?.unref();
  }
}

async function serve(
  host: CommandHost,
  what: readonly string[],
  options: ServeOptions,
  seat: ServeSeat,
  signal: AbortSignal,
): Promise<void> {
  await using served = await openGateway(host, what, options, signal, seat);
  const answer = async ({ kind }: ToSeat) => {
    if (kind === 'metrics') await tell({ kind, metrics: await served.gateway.metrics() });
  };
  const listener = (message: ToSeat) => void answer(message).catch(() => undefined);
  process.on('message', listener);
  try {
    await tell({ kind: 'ready', facts: factsOf(served) });
    if (!signal.aborted) await once(signal, 'abort');
    await served.gateway.close();
    await tell({ kind: 'totals', totals: totalsOf(served) });
  } finally {
    process.off('message', listener);
  }
}

/** Resolves when it was given to the channel. Nobody may listen any more. */
function tell(message: FromSeat): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined) resolve();
    else process.send(message, undefined, undefined, () => resolve());
  });
}
