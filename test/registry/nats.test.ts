import { NatsRegistry } from '@tiered/cluster/nats';
import { ManualClock } from '@tiered/core/testing';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { inspect } from 'node:util';
import { connect } from '@nats-io/transport-node';
import { Kvm } from '@nats-io/kv';
import { describe, expect, it, onTestFinished } from 'vitest';
import { entryOf, TTL_MS, until } from '../../packages/cluster/test/registry/suite.js';
import { freePorts } from '../../tools/servers/processes.js';
import { describeNats, ownServer, registryOf, sharedServer } from './nats-servers.js';

const name = 'training';
const put = { ttlMs: 60_000 };

/** Puts again and again until it works; calls reject while the server is away. */
const untilPut = (registry: NatsRegistry, slot: string, owner: string) =>
  until(() => registry.put(entryOf(slot, owner), put).catch(() => false));

describeNats((program) => {
  it('[Y2] is found again after it was killed, with the records that it kept', async () => {
    const server = await ownServer(program);
    const clock = new ManualClock();
    const registry = registryOf({ servers: server.url, name, ttlMs: 60_000, clock });
    await registry.open();
    expect(await registry.put(entryOf('rank-0', 'a'), put)).toBe(true);
    let hints = 0;
    registry.watch(() => (hints += 1));
    await server.kill();
    const call = registry.put(entryOf('rank-1', 'a'), put);
    const late = expect(call).rejects.toMatchObject({ code: 'TIERED_UNAVAILABLE', retryable: true });
    await clock.advance(5000);
    await late;
    await server.restart();
    await untilPut(registry, 'rank-1', 'a');
    expect(await registry.put(entryOf('rank-0', 'b'), put)).toBe(false);
    expect(await registry.all()).toHaveLength(2);
    hints = 0;
    await until(
      async () => (await registry.put(entryOf('rank-1', 'a'), put)) && hints > 0,
      () => clock.advance(1000),
    );
  });

  it('[Y3] gets a new bucket after it has lost its storage', async () => {
    const server = await ownServer(program);
    const options = { servers: server.url, name, ttlMs: 60_000 };
    const [one, other] = [registryOf(options), registryOf(options)];
    for (const registry of [one, other]) await registry.open();
    for (let i = 0; i < 10; i++) await one.put(entryOf('rank-0', 'a'), put);
    await server.kill();
    await server.restart({ keepStorage: false });
    await Promise.all([untilPut(one, 'rank-0', 'a'), untilPut(other, 'rank-1', 'b')]);
    expect(await one.put(entryOf('rank-1', 'a'), put)).toBe(false);
    expect(await other.all()).toHaveLength(2);
  });

  it('[Y3] gets a new bucket after somebody has deleted it', async () => {
    const server = await ownServer(program);
    const registry = registryOf({ servers: server.url, name, ttlMs: 60_000 });
    await registry.open();
    await registry.put(entryOf('rank-0', 'a'), put);
    const connection = await connect({ servers: server.url });
    onTestFinished(() => connection.close());
    const bucket = await new Kvm(connection).open(name);
    await bucket.destroy();
    expect(await registry.put(entryOf('rank-0', 'b'), put)).toBe(true);
    await bucket.destroy();
    expect(await registry.all()).toEqual([]);
  });

  it('[Y2] is given up in time while it is stopped, and used again after it', async () => {
    const server = await ownServer(program);
    const clock = new ManualClock();
    const registry = registryOf({ servers: server.url, name, ttlMs: 60_000, clock });
    await registry.open();
    server.signal('SIGSTOP');
    const calls = [registry.put(entryOf('rank-0', 'a'), put), registry.all(), registry.leave('rank-0', 'a')];
    const late = calls.map((call) => expect(call).rejects.toMatchObject({ code: 'TIERED_UNAVAILABLE' }));
    await clock.advance(5000);
    await Promise.all(late);
    server.signal('SIGCONT');
    await untilPut(registry, 'rank-0', 'a');
  });

  it('[Y2] need not be there at the first attempt to open', async () => {
    const [port = 0] = await freePorts(1);
    const nowhere = registryOf({ servers: `nats://127.0.0.1:${port}`, name });
    await expect(nowhere.open()).rejects.toMatchObject({ code: 'TIERED_UNAVAILABLE', retryable: true });
    await expect(nowhere.all()).rejects.toMatchObject({ code: 'TIERED_NOT_OPEN' });
    const server = await ownServer(program);
    await server.kill();
    const registry = registryOf({ servers: server.url, name });
    await expect(registry.open()).rejects.toMatchObject({ code: 'TIERED_UNAVAILABLE', retryable: true });
    await server.restart();
    await registry.open();
    expect(await registry.all()).toEqual([]);
  });

  it('says what to do where it has no JetStream', async () => {
    const server = await ownServer(program, [], false);
    const registry = registryOf({ servers: server.url, name });
    await expect(registry.open()).rejects.toMatchObject({
      code: 'TIERED_UNSUPPORTED',
      message: expect.stringContaining('-js') as unknown,
    });
  });

  it.each([
    ['a token', ['--auth', 'right-secret'], { token: 'right-secret' }, { token: 'wrong-secret' }],
    [
      'a password',
      ['--user', 'me', '--pass', 'right-secret'],
      { user: 'me', password: 'right-secret' },
      { user: 'me', password: 'wrong-secret' },
    ],
  ])('[Y4] asks for %s, which no message shows', async (_, args, right, wrong) => {
    const server = await ownServer(program, args);
    const allowed = registryOf({ servers: server.url, name, ...right });
    await allowed.open();
    expect(await allowed.put(entryOf('rank-0', 'a'), put)).toBe(true);
    for (const way of [wrong, {}]) {
      const refused = registryOf({ servers: server.url, name, ...way });
      const error: unknown = await refused.open().catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: 'TIERED_PERMISSION', retryable: false });
      expect(inspect([error, refused.name], { depth: 10, showHidden: true })).not.toMatch(/secret/);
    }
  });

  describe('with a bucket of somebody else', () => {
    const server = sharedServer(program);
    const make = async (bucket: string, options: object) => {
      const connection = await connect({ servers: server().url });
      onTestFinished(() => connection.close());
      return new Kvm(connection).create(bucket, options);
    };

    it('refuses another time to live, and says which it has', async () => {
      await make('other-ttl', { ttl: 30_000 });
      const registry = registryOf({ servers: server().url, name: 'other-ttl', ttlMs: 10_000 });
      await expect(registry.open()).rejects.toMatchObject({
        code: 'TIERED_CONFIG_INVALID',
        message: expect.stringMatching(/ttlMs: expected 30000.*got 10000/) as unknown,
      });
    });

    it('[Y1] takes other settings, and passes over what is no record', async () => {
      const bucket = await make('other', { ttl: TTL_MS, history: 5, storage: 'memory', max_bytes: 100_000 });
      await bucket.put('rank-0', 'no JSON');
      await bucket.put('rank-1', '[1]');
      await bucket.put('a/b=c', '{"owner":1}');
      const registry = registryOf({ servers: server().url, name: 'other', ttlMs: TTL_MS });
      await registry.open();
      expect(await registry.all()).toEqual([]);
      expect(await registry.put(entryOf('rank-0', 'a'), put)).toBe(true);
      expect(await registry.put(entryOf('rank-0', 'a'), put)).toBe(true);
      expect(await registry.put(entryOf('rank-0', 'b'), put)).toBe(false);
    });
  });
});

describe('the options of a registry on NATS', () => {
  const servers = 'nats://127.0.0.1:4222';

  it.each([
    [{ servers: [], name }],
    [{ servers: 'nats://me:top-secret@host:4222', name }],
    [{ servers: 'http://host', name }],
    [{ servers, name: 'a.b' }],
    [{ servers, name, ttlMs: 999 }],
    [{ servers, name, replicas: 6 }],
    [{ servers, name, token: 'top-secret', user: 'me', password: 'top-secret' }],
    [{ servers, name, user: 'me' }],
    [{ servers, name, password: 'top-secret' }],
  ])('are refused before anybody is asked: %#', (options) => {
    let error: unknown;
    try {
      new NatsRegistry(options);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toMatchObject({ code: 'TIERED_CONFIG_INVALID' });
    expect(inspect(error)).not.toContain('top-secret');
  });

  it('name files of credentials that are there, and that are such files', async () => {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'creds-'));
    onTestFinished(() => fs.rmSync(directory, { recursive: true }));
    const file = path.join(directory, 'a.creds');
    for (const make of [() => undefined, () => fs.writeFileSync(file, 'top-secret')]) {
      make();
      const error: unknown = await registryOf({ servers, name, credsFile: file })
        .open()
        .catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: 'TIERED_CONFIG_INVALID' });
      expect(inspect(error)).not.toContain('top-secret');
    }
  });
});
