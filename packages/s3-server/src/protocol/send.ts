import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { systemClock } from '@tiered/core';
import { lengthHeaders, type Answer } from '@tiered/gateway/internal';
import type { StoredObject } from '../storage.js';

/**
 * Where an answer breaks off: after this many bytes of its body, by a reset (RST) or an orderly end of the
 * connection.
 */
interface Cut {
  readonly bytes: number;
  readonly by: 'reset' | 'close';
}

/** An answer with its body, which may break off. */
export interface WholeAnswer extends Answer<StoredObject> {
  readonly cut?: Cut;
}

/** Returns the headers with one of them replaced. */
export function replaceHeader(headers: readonly string[], name: string, value: string): string[] {
  const wanted = name.toLowerCase();
  return headers.map((text, index) =>
    index % 2 === 1 && headers[index - 1]?.toLowerCase() === wanted ? value : text,
  );
}

/** Sends an answer. Header and body leave in one write. */
export function send(
  response: ServerResponse,
  answer: WholeAnswer,
  common: readonly string[],
  bodyless: boolean,
): void {
  const { status, body, cut } = answer;
  if (cut?.by === 'reset' && cut.bytes === 0) {
    response.socket?.resetAndDestroy();
    return;
  }
  response.sendDate = false;
  response.writeHead(status, common.concat(answer.headers, lengthHeaders(answer)));
  if (cut !== undefined && body !== undefined && !bodyless) breakOff(response, body, cut);
  else response.end(bodyless ? undefined : body);
}

function breakOff(response: ServerResponse, body: Uint8Array, { bytes, by }: Cut): void {
  const { socket } = response;
  const end = () => (by === 'reset' ? void resetSoon(socket) : socket?.destroySoon());
  response.flushHeaders();
  response.write(body.subarray(0, bytes), end);
}

/**
 * Waits two turns before the reset. If libuv sees data and a RST in one turn, it reports an orderly end.
 * Within two turns a client in this process has read the data.
 */
async function resetSoon(socket: Socket | null): Promise<void> {
  await systemClock.turn();
  await systemClock.turn();
  socket?.resetAndDestroy();
}
