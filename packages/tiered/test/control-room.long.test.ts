import { MemoryRecords, MemoryRegistry } from '@tiered/cluster/registry';
import { look } from '@tiered/control';
import { systemClock } from '@tiered/core';
import http from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { serveControlRoom } from '../src/control-room/serve.js';
import type { Frame } from '../src/control-room/watch.js';
import { stageOf } from './cli/control-records.js';

async function serving(allowSet: boolean) {
  const registry = new MemoryRegistry(new MemoryRecords(systemClock));
  await registry.open({});
  const record = stageOf({ job: 'imagenet', report: { budget: { bytes: 150e6 } } });
  await registry.put({ slot: 'stage.1', owner: 'one', record }, { ttlMs: 600_000 });
  const room = await serveControlRoom({ registry, clock: systemClock, allowSet });
  onTestFinished(() => room.close());
  const { origin, hash } = new URL(room.url);
  return { registry, origin, token: hash.slice(1), close: () => room.close() };
}

/** The data of the first event of a name. */
async function eventOf(url: string, name: string): Promise<unknown> {
  const { body } = await fetch(url);
  let heard = '';
  for await (const part of (body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    heard += part;
    const [, data] = new RegExp(`^event: ${name}\ndata: (.*)\n\n`, 'm').exec(heard) ?? [];
    if (data !== undefined) return JSON.parse(data);
  }
  throw new Error(`there was no ${name} in ${heard}`);
}

const post = (origin: string, token: string, body: string) =>
  fetch(`${origin}/set`, { method: 'POST', headers: { authorization: `Bearer ${token}` }, body });

describe('the server of a control room', () => {
  it('[N3] shows jobs to who has the token, and to nobody else', async () => {
    const { origin, token } = await serving(false);
    const frame = (await eventOf(`${origin}/events?token=${token}`, 'frame')) as Frame;
    expect(frame.sources).toMatchObject([
      { source: 'server:/export', jobs: [{ job: 'imagenet', used: { bytes: 40e6 } }], others: 0 },
    ]);
    expect(await eventOf(`${origin}/events?token=${token}`, 'policy')).toEqual([
      'operators have set nothing',
    ]);
    for (const wrong of ['', '?token=', `?token=${token.slice(1)}`, `?token=${token}x`])
      expect((await fetch(`${origin}/events${wrong}`)).status, wrong).toBe(401);
  });

  it('[N3] sets something for who has the token, where that was allowed', async () => {
    const { origin, token, registry } = await serving(true);
    const form = JSON.stringify({ job: 'imagenet', weight: '2' });
    expect((await post(origin, 'wrong', form)).status).toBe(401);
    const done = await post(origin, token, form);
    expect([done.status, await done.json()]).toEqual([
      200,
      {
        lines: [expect.stringMatching(/^revision 1, set by \S+:$/), '  job imagenet: weight 2'],
        notes: [],
      },
    ]);
    expect((await look(registry)).policy?.jobs).toEqual({ imagenet: { weight: 2 } });
    for (const [body, error] of [
      ['{', 'no form'],
      ['[]', 'no form'],
      [JSON.stringify({ job: 'a', weight: 2 }), 'no form'],
      [JSON.stringify({ job: 'a', rank: '2' }), 'no form'],
      [JSON.stringify({ job: 'a', weight: '0' }), 'weight: expected a number from 0.001 to 1000'],
      [JSON.stringify({ job: 'a/b', weight: '2' }), 'jobs.a/b'],
      [JSON.stringify({ job: 'a'.repeat(9_000), weight: '2' }), 'too large'],
    ] as const) {
      const refused = await post(origin, token, body);
      expect([refused.status, await refused.json()]).toEqual([
        400,
        { error: expect.stringContaining(error) },
      ]);
    }
    expect((await look(registry)).policy?.revision).toBe(1);
  });

  it('[N3] sets nothing where that was not allowed', async () => {
    const { origin, token, registry } = await serving(false);
    const refused = await post(origin, token, JSON.stringify({ job: 'imagenet', weight: '2' }));
    expect(refused.status).toBe(403);
    expect((await look(registry)).policy).toBeUndefined();
    expect(await (await fetch(origin)).text()).not.toContain('<form');
  });

  it('[N3] answers to names of this machine only, and lets no page do more than it does itself', async () => {
    const { origin, token } = await serving(true);
    const { port } = new URL(origin);
    const statusFor = (host: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        const request = http.get({ host: '127.0.0.1', port, path: '/', headers: { host } }, (answer) => {
          void text(answer).then(() => resolve(answer.statusCode));
        });
        request.on('error', reject);
      });
    expect(await statusFor(`localhost:${port}`)).toBe(200);
    expect(await statusFor(`rebound.example:${port}`)).toBe(403);
    const { headers } = await fetch(origin);
    const policy = headers.get('content-security-policy');
    expect(policy).toContain("default-src 'none'; script-src 'self'");
    expect(policy).not.toContain('unsafe');
    expect(headers.get('access-control-allow-origin')).toBeNull();
    for (const path of ['/room.js', '/charts.js', '/uplot.js', '/uplot.css', '/room.css'])
      expect((await fetch(`${origin}${path}`)).status, path).toBe(200);
    expect((await fetch(`${origin}/../package.json`)).status).toBe(404);
    expect((await fetch(`${origin}/set?token=${token}`)).status).toBe(404);
  });

  it('[N3] is gone with who served it, pages that follow included', async () => {
    const { origin, token, close } = await serving(false);
    const following = (await fetch(`${origin}/events?token=${token}`)).text();
    await Promise.all([close(), expect(following).rejects.toThrow()]);
    await expect(fetch(origin)).rejects.toThrow();
  });
});
