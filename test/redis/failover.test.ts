import { isTieredError } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import type { RedisDriver } from '@tiered/redis-adapter';
import { expect, it } from 'vitest';
import { until } from '../../tools/servers/redis.js';
import { describeRedis, openDriver } from './helpers.js';

/** Reads until that works; meanwhile the server is unavailable, and nothing else is wrong. */
async function readAgain(driver: RedisDriver, key: string): Promise<Uint8Array> {
  let bytes: Uint8Array | undefined;
  await until(async () => {
    try {
      bytes = await driver.read(key, { offset: 0, length: 100_000 });
    } catch (error) {
      if (!isTieredError(error, 'TIERED_UNAVAILABLE')) throw error;
      expect(error.retryable).toBe(true);
    }
    return bytes !== undefined;
  });
  return bytes ?? new Uint8Array();
}

describeRedis('a failover', (servers) => {
  it('[J3] by Sentinel: the replica serves what it has, and takes writes', async () => {
    const master = await servers().start();
    const replica = await servers().start({ replicaof: `127.0.0.1 ${master.port}` });
    const sentinel = await servers().startSentinel('cache', master);
    await until(async () =>
      (await sentinel.cli('SENTINEL', 'REPLICAS', 'cache')).includes(`${replica.port}`),
    );
    // Nobody listens there: one of several Sentinels may be gone.
    const nodes = ['127.0.0.1:1', `127.0.0.1:${sentinel.port}`];
    const driver = await openDriver({ sentinel: { name: 'cache', nodes }, writable: true, chunk: 1000 });
    const bytes = someBytes(3500, 1);
    await driver.write('object', bytes, { size: 3500 });
    await until(async () => (await replica.cli('DBSIZE')) === '4');
    await master.kill();
    expect(Buffer.compare(await readAgain(driver, 'object'), bytes)).toBe(0);
    expect(await replica.cli('ROLE')).toContain('master');
    await driver.write('object', someBytes(10, 2), { size: 10 });
    expect((await readAgain(driver, 'object')).byteLength).toBe(10);
    await driver.close();
    expect(driver.openConnections).toBe(0);
  });

  it('[J3] of a cluster: the replica has the slots of its master', async () => {
    const masters = await servers().startCluster({ 'cluster-node-timeout': '1000' });
    const [first, second, third] = masters;
    if (first === undefined || second === undefined || third === undefined)
      throw new Error('servers are missing');
    const replica = await servers().start({ 'cluster-enabled': 'yes' });
    await first.cli(
      '--cluster',
      'add-node',
      `127.0.0.1:${replica.port}`,
      `127.0.0.1:${first.port}`,
      '--cluster-slave',
      '--cluster-master-id',
      await first.cli('CLUSTER', 'MYID'),
    );
    const nodes = masters.map(({ port }) => `127.0.0.1:${port}`);
    const driver = await openDriver({ cluster: { nodes }, writable: true, chunk: 1000 });
    const keys = Array.from({ length: 30 }, (_, i) => `object/${i}`);
    await Promise.all(keys.map((key, i) => driver.write(key, someBytes(2500, i), { size: 2500 })));
    const size = async (server: typeof first) => server.cli('DBSIZE');
    await until(async () => (await size(replica)) === (await size(first)));
    for (const server of masters) expect(Number(await size(server))).toBeGreaterThan(0);
    await first.kill();
    // Objects of the others are served meanwhile.
    for (const [i, key] of keys.entries())
      expect(Buffer.compare(await readAgain(driver, key), someBytes(2500, i)), key).toBe(0);
    const listed: string[] = [];
    for await (const page of driver.list({})) listed.push(...page.map(({ key }) => key));
    expect(listed.toSorted()).toEqual(keys.toSorted());
  });
});
