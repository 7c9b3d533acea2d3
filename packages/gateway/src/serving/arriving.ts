import type { Clock } from '@tiered/core';
import type { IncomingMessage } from 'node:http';
import { Patience } from './patience.js';

/** How to wait for a body. */
export interface ArrivingOptions {
  readonly clock: Clock;
  readonly stallMs: number;
  /** Tells a client that asked first to send its body. */
  readonly goOn: () => void;
}

/**
 * The body of a write as it arrives, no faster than it is consumed. A client that sends too little is cut
 * off. The connection stays open for the answer.
 */
export async function* arriving(
  message: IncomingMessage,
  { clock, stallMs, goOn }: ArrivingOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (message.headers.expect !== undefined) goOn();
  const patience = new Patience({ clock, stallMs, cutOff: () => message.destroy() });
  const pieces = message.iterator({ destroyOnReturn: false });
  try {
    for (;;) {
      const next = await patience.wait(pieces.next());
      if (next.done === true) return;
      const piece = next.value as Buffer;
      patience.count(piece.byteLength);
      yield piece;
    }
  } finally {
    patience.close();
    await pieces.return?.();
  }
}

/**
 * Cuts off a client that has not sent its whole request in time. Node does not, because a write may take
 * longer.
 * @param requestMs See `GatewayLimits`.
 */
export function expectEnd(message: IncomingMessage, clock: Clock, requestMs: number): void {
  if (message.complete || message.destroyed) return;
  const over = new AbortController();
  message.once('close', () => over.abort(new Error('The request has ended.')));
  clock.sleep(requestMs, over.signal, { background: true }).then(
    () => {
      if (!message.complete) message.destroy();
    },
    () => undefined,
  );
}
