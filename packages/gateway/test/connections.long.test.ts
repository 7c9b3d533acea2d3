import { Agent, request } from 'node:http';
import { EventEmitter, once } from 'node:events';
import type { Socket } from 'node:net';
import type { Gateway, GatewayLimits } from '@tiered/gateway';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BUCKET, connectionTo, gatewayOn, hierarchyOn, send, sourceOf } from './helpers.js';

const OBJECT = Buffer.from('hello');
const TARGET = `/${BUCKET}/k`;

async function served(limits: Partial<GatewayLimits>, more: object = {}): Promise<Gateway> {
  return gatewayOn(await hierarchyOn(await sourceOf({ k: OBJECT })), { limits, ...more });
}

/** A connection that takes all that comes. */
function readerOf(gateway: Gateway): Socket {
  return connectionTo(gateway).resume();
}

describe('a slow client', () => {
  it('[X2] that does not finish the head of its request is cut off, and others are answered', async () => {
    const gateway = await served({ headersMs: 300, requestMs: 300 });
    const slow = readerOf(gateway);
    slow.write(`GET ${TARGET} HTTP/1.1\r\nx-slow: `);
    const silent = readerOf(gateway);
    const closed = Promise.all([once(slow, 'close'), once(silent, 'close')]);
    expect((await send(gateway, TARGET)).body).toEqual(OBJECT);
    await closed;
  });

  it('[X2] that does not finish the body of its request is cut off', async () => {
    const gateway = await served({ headersMs: 300, requestMs: 300 });
    const slow = readerOf(gateway);
    slow.write(`PUT ${TARGET} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\nbegin`);
    await once(slow, 'close');
  });

  it('[X2] that asks for nothing more is let go', async () => {
    const gateway = await served({ idleMs: 100 });
    const idle = readerOf(gateway);
    idle.write(`GET ${TARGET} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
    await once(idle, 'close');
  });

  it('[X2] that has closed its half gets its answer', async () => {
    const gateway = await served({});
    const half = readerOf(gateway);
    const pieces: Buffer[] = [];
    half.on('data', (piece: Buffer) => pieces.push(piece));
    half.end(`GET ${TARGET} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
    await once(half, 'close');
    expect(Buffer.concat(pieces).toString()).toMatch(/^HTTP\/1.1 200 OK\r\n[^]*\r\n\r\nhello$/);
  });

  it('[X2] that sends a long head is refused', async () => {
    const gateway = await served({ headerBytes: 2000 });
    const headers = { 'x-long': 'x'.repeat(3000) };
    expect((await send(gateway, TARGET, { headers })).status).toBe(431);
  });
});

/** The status of an answer that has arrived whole, over a connection of the agent's. */
function statusBy(agent: Agent, { endpoint }: Gateway): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const outgoing = request(endpoint + TARGET, { agent }, (incoming) => {
      incoming.resume().once('end', () => resolve(incoming.statusCode));
    });
    outgoing.on('error', reject).end();
  });
}

describe('a flood', () => {
  it('[X2] of connections beyond the limit is closed at once, and told', async () => {
    const gateway = await served({ connections: 4 }, { metrics: { port: 0 } });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const kept = () => statusBy(agent, gateway);
    expect(await kept()).toBe(200);
    const flood = Array.from({ length: 40 }, () => readerOf(gateway));
    const events = new EventEmitter();
    let closed = 0;
    for (const socket of flood) {
      socket.once('close', () => {
        closed += 1;
        if (closed === 37) events.emit('most');
      });
    }
    await once(events, 'most');
    expect(gateway.stats().connections).toBe(4);
    // A connection that is open already is answered all the same.
    expect(await kept()).toBe(200);
    const metrics = await fetch(`${gateway.metricsEndpoint}/metrics`);
    expect(await metrics.text()).toMatch(/^tiered_gateway_refused_connections_total 37$/m);
    for (const socket of flood) socket.destroy();
  });

  it('[X2] of requests holds a bounded number of bytes', async () => {
    const gateway = await served({ memory: 1 });
    const agent = new Agent({ keepAlive: true, maxSockets: 20 });
    onTestFinished(() => agent.destroy());
    const one = () => statusBy(agent, gateway);
    const answers = await Promise.all(Array.from({ length: 1000 }, one));
    expect(new Set(answers)).toEqual(new Set([200]));
    expect(gateway.stats().mostHeldBytes).toBeLessThanOrEqual(20 * OBJECT.byteLength);
    expect(gateway.stats().heldBytes).toBe(0);
  });
});
