import { isTieredError } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import type { RedisDriver } from '@tiered/redis-adapter';
import { inspect } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { until } from '../../tools/servers/redis.js';
import { describeRedis, openDriver, optionsFor } from './helpers.js';

const write = (driver: RedisDriver, key: string, bytes: Uint8Array) =>
  driver.write(key, bytes, { size: bytes.byteLength });
const read = (driver: RedisDriver, key: string, signal?: AbortSignal) =>
  driver.read(key, { offset: 0, length: 10_000_000, signal });

/** What each operation does on an object that is there. */
const operations = (driver: RedisDriver) => [
  read(driver, 'object'),
  driver.read('object', { offset: 5, length: 5 }),
  driver.stat('object', {}),
  write(driver, 'object', someBytes(10, 1)),
  driver.delete('object', {}),
  driver.usage({}),
];

async function assertAll(promises: readonly Promise<unknown>[], error: object): Promise<void> {
  for (const outcome of await Promise.allSettled(promises)) {
    expect(outcome.status).toBe('rejected');
    if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject(error);
  }
}

describeRedis('a server in trouble', (servers) => {
  const UNAVAILABLE = { code: 'TIERED_UNAVAILABLE', retryable: true };

  it('[J3] that was killed costs misses, and nothing else once it is back', async () => {
    const server = await servers().start();
    const driver = await openDriver({ ...optionsFor(server), chunk: 1000 });
    await write(driver, 'object', someBytes(5000, 1));
    await server.kill();
    await assertAll(operations(driver), UNAVAILABLE);
    expect(driver.openConnections).toBe(0);
    await server.restart();
    await expect(read(driver, 'object')).rejects.toMatchObject({ code: 'TIERED_NOT_FOUND' });
    await write(driver, 'object', someBytes(5000, 2));
    expect(Buffer.compare(await read(driver, 'object'), someBytes(5000, 2))).toBe(0);
  });

  it('[J3] that is stopped ends every operation in time, and serves when it goes on', async () => {
    const server = await servers().start();
    const driver = await openDriver({ ...optionsFor(server), timeoutMs: 1000, concurrency: 3 });
    await write(driver, 'object', someBytes(5000, 1));
    const pid = await server.pid();
    process.kill(pid, 'SIGSTOP');
    const late = { ...UNAVAILABLE, message: expect.stringContaining('did not answer in time') as string };
    // The connection is open in the first round, and cannot be made in the second.
    for (let round = 0; round < 2; round++) {
      await assertAll([read(driver, 'object')], late);
      // A connection that is given up ends what else waits for it.
      await assertAll(operations(driver), UNAVAILABLE);
    }
    process.kill(pid, 'SIGCONT');
    await until(async () => {
      const outcome = await read(driver, 'object').catch((error: unknown) => error);
      // What was sent before it was stopped is done now.
      return outcome instanceof Uint8Array || isTieredError(outcome, 'TIERED_NOT_FOUND');
    });
    await write(driver, 'object', someBytes(100, 2));
    expect(Buffer.compare(await read(driver, 'object'), someBytes(100, 2))).toBe(0);
  });

  it('[B1] that is stopped does not hold up an abort, and close leaves nothing', async () => {
    const server = await servers().start();
    const driver = await openDriver(optionsFor(server));
    await write(driver, 'object', someBytes(5000, 1));
    const pid = await server.pid();
    process.kill(pid, 'SIGSTOP');
    onTestFinished(() => void process.kill(pid, 'SIGCONT'));
    const reason = new Error('no longer wanted');
    const controller = new AbortController();
    const target = new Uint8Array(5000);
    const reads = [
      read(driver, 'object', controller.signal),
      driver.readInto('object', target, { offset: 0, signal: controller.signal }),
      driver.stat('object', { signal: controller.signal }),
    ];
    controller.abort(reason);
    for (const outcome of await Promise.allSettled(reads))
      expect(outcome).toEqual({ status: 'rejected', reason });
    await driver.close();
    expect(driver.openConnections).toBe(0);
    expect(target.every((byte) => byte === 0)).toBe(true);
  });

  it('[B1] that is stopped while it is connected to gets nothing of what was aborted meanwhile', async () => {
    const server = await servers().start();
    const driver = await openDriver({ ...optionsFor(server), timeoutMs: 600_000 });
    const pid = await server.pid();
    process.kill(pid, 'SIGSTOP');
    const reason = new Error('no longer wanted');
    const controller = new AbortController();
    const { signal } = controller;
    const aborted = [
      driver.write('object', someBytes(10, 1), { size: 10, signal }),
      driver.write('absent', someBytes(10, 1), { size: 10, ifAbsent: true, signal }),
      driver.delete('object', { signal }),
    ];
    await until(async () => driver.openConnections === 1);
    controller.abort(reason);
    for (const outcome of await Promise.allSettled(aborted))
      expect(outcome).toEqual({ status: 'rejected', reason });
    process.kill(pid, 'SIGCONT');
    await expect(driver.stat('object', {})).rejects.toMatchObject({ code: 'TIERED_NOT_FOUND' });
    expect(await server.cli('DBSIZE')).toBe('0');
  });

  it.each(['a server', 'a cluster', 'a Sentinel'])(
    '[C1] that is stopped while it is connected to leaves nothing when the driver is closed: %s',
    async (kind) => {
      const cluster = kind === 'a cluster' ? await servers().startCluster() : [await servers().start()];
      const [first] = cluster;
      if (first === undefined) throw new Error('there is no server');
      const sentinels = kind === 'a Sentinel' ? [await servers().startSentinel('main', first)] : [];
      const nodes = [...(sentinels.length > 0 ? sentinels : cluster)].map(({ port }) => `127.0.0.1:${port}`);
      const stopped = await Promise.all([...cluster, ...sentinels].map((server) => server.pid()));
      const place = {
        'a server': { url: `redis://127.0.0.1:${first.port}` },
        'a cluster': { cluster: { nodes } },
        'a Sentinel': { sentinel: { name: 'main', nodes } },
      }[kind];
      const driver = await openDriver({ ...place, timeoutMs: 200 });
      for (const pid of stopped) process.kill(pid, 'SIGSTOP');
      onTestFinished(() => stopped.forEach((pid) => process.kill(pid, 'SIGCONT')));
      for (let round = 0; round < 2; round++) await assertAll([driver.stat('object', {})], UNAVAILABLE);
      const controller = new AbortController();
      const reason = new Error('no longer wanted');
      const reading = read(driver, 'object', controller.signal);
      controller.abort(reason);
      await expect(reading).rejects.toBe(reason);
      await driver.close();
      expect(driver.openConnections).toBe(0);
    },
  );

  it('[J3] that is full and evicts nothing says so', async () => {
    const server = await servers().start({ maxmemory: '3mb', 'maxmemory-policy': 'noeviction' });
    const driver = await openDriver({ ...optionsFor(server), chunk: 100_000 });
    await write(driver, 'kept', someBytes(1000, 1));
    const fill = async (size: number, ifAbsent: boolean) => {
      for (let i = 0; i < 1000; i++)
        await driver.write(`object/${size}/${i}`, someBytes(size, i), { size, ifAbsent });
    };
    const full = { code: 'TIERED_NO_SPACE', retryable: false, cause: { code: 'OOM' } };
    await expect(fill(250_000, false)).rejects.toMatchObject(full);
    await expect(fill(10_000, true)).rejects.toMatchObject(full);
    await expect(fill(9_000, false)).rejects.toMatchObject(full);
    expect(Buffer.compare(await read(driver, 'kept'), someBytes(1000, 1))).toBe(0);
    await driver.delete('kept', {});
  });

  it('[J1] that evicts all the time gives right bytes or a miss', async () => {
    const server = await servers().start({ maxmemory: '10mb', 'maxmemory-policy': 'allkeys-lru' });
    const driver = await openDriver({ ...optionsFor(server), chunk: 100_000 });
    const bytes = Array.from({ length: 60 }, (_, i) => someBytes(50_000 + i * 7_000, i));
    let [hits, misses] = [0, 0];
    for (let round = 0; round < 4; round++) {
      await Promise.all(
        bytes.map(async (expected, i) => {
          try {
            expect(Buffer.compare(await read(driver, `object/${i}`), expected)).toBe(0);
            hits += 1;
          } catch (error) {
            expect(error).toMatchObject({ code: 'TIERED_NOT_FOUND' });
            misses += 1;
            await write(driver, `object/${i}`, expected);
          }
        }),
      );
    }
    expect(hits).toBeGreaterThan(0);
    expect(misses).toBeGreaterThan(bytes.length);
    expect(await server.cli('INFO', 'stats')).not.toContain('evicted_keys:0');
  });

  it('[J3] that is a replica takes no writes, and one that has lost its master may say nothing', async () => {
    const server = await servers().start();
    const driver = await openDriver(optionsFor(server));
    await write(driver, 'object', someBytes(10, 1));
    await server.cli('REPLICAOF', '127.0.0.1', '1');
    await expect(write(driver, 'object', someBytes(10, 2))).rejects.toMatchObject(UNAVAILABLE);
    expect(Buffer.compare(await read(driver, 'object'), someBytes(10, 1))).toBe(0);
    await server.cli('CONFIG', 'SET', 'replica-serve-stale-data', 'no');
    await assertAll([read(driver, 'object'), driver.stat('object', {})], {
      ...UNAVAILABLE,
      cause: { code: 'MASTERDOWN' },
    });
    await server.cli('REPLICAOF', 'NO', 'ONE');
    await write(driver, 'object', someBytes(10, 3));
  });

  it('that takes no more clients, or is nowhere, is unavailable', async () => {
    const server = await servers().start({ maxclients: '1' });
    const one = await openDriver(optionsFor(server));
    await write(one, 'object', someBytes(10, 1));
    const other = await openDriver(optionsFor(server));
    await assertAll(operations(other), UNAVAILABLE);
    const nowhere = await openDriver({ url: 'redis://nowhere.invalid', writable: true });
    await assertAll(operations(nowhere), UNAVAILABLE);
  });

  it('that is part of a cluster, or of none, is a mistake of the configuration', async () => {
    const [first] = await servers().startCluster();
    const alone = await servers().start();
    if (first === undefined) throw new Error('there is no server');
    const single = await openDriver(optionsFor(first));
    const keys = Array.from({ length: 8 }, (_, i) => single.stat(`key ${i}`, {}));
    const codes = (await Promise.allSettled(keys)).map((outcome) =>
      outcome.status === 'rejected' ? (outcome.reason as { code: string }).code : '',
    );
    expect(codes).toContain('TIERED_CONFIG_INVALID');
    const cluster = await openDriver({ cluster: { nodes: [`127.0.0.1:${alone.port}`] } });
    await expect(cluster.stat('key', {})).rejects.toMatchObject({ code: 'TIERED_CONFIG_INVALID' });
    const tenth = await openDriver({ url: `redis://127.0.0.1:${alone.port}/99` });
    await expect(tenth.stat('key', {})).rejects.toMatchObject({ code: 'TIERED_CONFIG_INVALID' });
  });

  it('[J4] that refuses a user is told from others, and no password is shown', async () => {
    const rights = 'on >right-secret ~* +getrange';
    const server = await servers().start({ user: `reader ${rights}` });
    const of = (username: string, password: string) => ({ ...optionsFor(server), username, password });
    const wrong = await openDriver(of('reader', 'wrong-secret'));
    const reader = await openDriver(of('reader', 'right-secret'));
    const refused = { code: 'TIERED_PERMISSION', retryable: false };
    await assertAll(operations(wrong), { ...refused, cause: { code: 'WRONGPASS' } });
    await assertAll([write(reader, 'object', someBytes(10, 1))], { ...refused, cause: { code: 'NOPERM' } });
    await expect(reader.stat('object', {})).rejects.toMatchObject({ code: 'TIERED_NOT_FOUND' });
    await server.cli('CONFIG', 'SET', 'requirepass', 'other-secret');
    const nobody = await openDriver(optionsFor(server));
    await assertAll(operations(nobody), { ...refused, cause: { code: 'NOAUTH' } });
    const inUrl = await openDriver({ url: `redis://reader:wrong-secret@127.0.0.1:${server.port}` });
    const error = await inUrl.stat('object', {}).catch((thrown: unknown) => thrown);
    const [outcome] = await Promise.allSettled(operations(wrong));
    for (const shown of [error, outcome, wrong, inUrl, inUrl.name, inUrl.location])
      expect(inspect(shown, { depth: 20, showHidden: true })).not.toContain('-secret');
  });
});
