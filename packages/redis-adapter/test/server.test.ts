import { ManualClock, settled } from '@tiered/core/testing';
import { expect, it } from 'vitest';
import { Server } from '../src/connection/server.js';
import type { Session } from '../src/connection/session.js';

/** A session that takes as long to connect as a test wants. */
class SlowSession implements Session {
  readonly ready: Promise<void>;
  readonly gone = new AbortController().signal;
  readonly isOpen = true;
  readonly connections = 1;
  readonly masters = () => [];
  connect: () => void = () => undefined;

  constructor() {
    this.ready = new Promise((resolve) => {
      this.connect = resolve;
    });
  }

  async send(): Promise<string> {
    return 'PONG';
  }

  async close(): Promise<void> {}

  destroy(): void {}
}

it('stays with a connection that was slow, although a command was given up before it was there', async () => {
  const clock = new ManualClock();
  const sessions: SlowSession[] = [];
  const connect = () => {
    const session = new SlowSession();
    sessions.push(session);
    return session;
  };
  const server = new Server({ connect, timeoutMs: 5000, concurrency: 8, memory: 1e6, clock });
  const ends = new AbortController();
  const given = server.send('key', ['PING'], { bytes: 0, signal: ends.signal });
  const reason = new Error('enough');
  ends.abort(reason);
  await expect(given).rejects.toBe(reason);
  await clock.advance(2000);
  sessions[0]?.connect();
  await settled();
  const next = server.send('key', ['PING'], { bytes: 0, signal: undefined });
  expect(sessions).toHaveLength(1);
  expect(await next).toBe('PONG');
  await server.close();
});
