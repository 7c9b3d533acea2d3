import { ManualClock } from '@tiered/core/testing';
import type { ServerResponse } from 'node:http';
import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { Sender } from '../src/serving/sender.js';

/** An answer whose bytes are taken when the test says so. */
function senderOf(stallMs: number) {
  const clock = new ManualClock();
  const waiting: (() => void)[] = [];
  const response = new Writable({ write: (_, __, done) => void waiting.push(done) });
  const gone = new AbortController();
  response.on('close', () => gone.abort(new Error('closed')));
  const sender = new Sender({
    response: response as unknown as ServerResponse,
    gone: gone.signal,
    clock,
    stallMs,
  });
  return { clock, sender, response, take: () => waiting.shift()?.() };
}

describe('Sender', () => {
  const small = new Uint8Array(1000);

  it('[X2] cuts a client off that takes small slices now and then', async () => {
    const { clock, sender, response, take } = senderOf(1000);
    let sent = 0;
    const all = (async () => {
      for (; sent < 100; sent++) await sender.send(small);
    })().catch(() => undefined);
    for (let i = 0; i < 100 && !response.destroyed; i++) {
      await clock.advance(900);
      take();
    }
    await all;
    expect(sent).toBeLessThanOrEqual(2);
    sender.close();
  });

  it('[X2] never cuts a client off that waits for the source', async () => {
    const { clock, sender, response, take } = senderOf(1000);
    for (let i = 0; i < 20; i++) {
      const sent = sender.send(small);
      await clock.advance(10);
      take();
      await sent;
      await clock.advance(5000);
    }
    expect(response.destroyed).toBe(false);
    sender.close();
  });

  it('[X2] cuts a client off that does not take the end of an answer', async () => {
    const { clock, sender, response, take } = senderOf(1000);
    const sent = sender.send(small);
    take();
    await sent;
    const failed = sender.send(small, true).catch((error: unknown) => error);
    await clock.advance(2000);
    expect(response.destroyed).toBe(true);
    expect(await failed).toEqual(new Error('closed'));
    sender.close();
  });

  it('ends an answer by its last bytes', async () => {
    const { sender, response, take } = senderOf(1000);
    const sent = sender.send(small, true);
    take();
    await sent;
    expect(response.writableFinished).toBe(true);
    await sender.end();
    expect(sender.bytes).toBe(1000);
    sender.close();
  });
});
