import type { NatsRegistry } from '@tiered/cluster/nats';
import { ManualClock } from '@tiered/core/testing';
import { connect } from '@nats-io/transport-node';
import { Kvm } from '@nats-io/kv';
import { describe, expect, it, onTestFinished } from 'vitest';
import { entryOf, LONG_MS, until } from '../../packages/cluster/test/registry/suite.js';
import { freePorts } from '../../tools/servers/processes.js';
import { describeNats, ownServer, registryOf, sharedServer } from './nats-servers.js';

const name = 'training';
const put = { ttlMs: LONG_MS };

/** Puts again and again until it works; calls reject while the server is away. */
const untilPut = (registry: NatsRegistry, slot: string, owner: string) =>
  until(() => registry.put(entryOf(slot, owner), put).catch(() => false));

describeNats((program) => {
  it('[Y2] is found again after it was killed, with the records that it kept', async () => {
    const server = await ownServer(program);
    const clock = new ManualClock();
    const registry = registryOf({ servers: server.url, name, ttlMs: LONG_MS, clock });
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
    const options = { servers: server.url, name, ttlMs: LONG_MS };
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
    const registry = registryOf({ servers: server.url, name, ttlMs: LONG_MS });
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
    const registry = registryOf({ servers: server.url, name, ttlMs: LONG_MS, clock });
    await registry.open();
    server.stop();
    const calls = [registry.put(entryOf('rank-0', 'a'), put), registry.all(), registry.leave('rank-0', 'a')];
    const late = calls.map((call) => expect(call).rejects.toMatchObject({ code: 'TIERED_UNAVAILABLE' }));
    await clock.advance(5000);
    await Promise.all(late);
    server.goOn();
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
      const same = registryOf({ servers: server().url, name: 'other-ttl', ttlMs: 30_000 });
      await same.open();
      await expect(same.put(entryOf('rank-0', 'a'), { ttlMs: 30_001 })).rejects.toMatchObject({
        code: 'TIERED_CONFIG_INVALID',
      });
    });

    it('[Y1] takes other settings, and passes over what is no record', async () => {
      const bucket = await make('other', { ttl: LONG_MS, history: 5, storage: 'memory', max_bytes: 100_000 });
      await bucket.put('rank-0', 'no JSON');
      await bucket.put('rank-1', '[1]');
      await bucket.put('a/b=c', '{"owner":1}');
      const registry = registryOf({ servers: server().url, name: 'other', ttlMs: LONG_MS });
      await registry.open();
      expect(await registry.all()).toEqual([]);
      expect(await registry.put(entryOf('rank-0', 'a'), put)).toBe(true);
      expect(await registry.put(entryOf('rank-0', 'a'), put)).toBe(true);
      expect(await registry.put(entryOf('rank-0', 'b'), put)).toBe(false);
    });
  });
});
