import { someBytes } from '@tiered/core/testing';
import { EventEmitter, once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { HEAD_BYTES } from '../../packages/redis-adapter/src/objects/head.js';
import type { RedisDriver } from '@tiered/redis-adapter';
import type { RedisServer } from '../../tools/servers/redis.js';
import { describeRedis, openDriver, optionsFor } from './helpers.js';

const CHUNK = 1000;
const SIZE = 4500;

const write = (driver: RedisDriver, key: string, bytes: Uint8Array, ifAbsent = false) =>
  driver.write(key, bytes, { size: bytes.byteLength, ifAbsent });
const read = (driver: RedisDriver, key: string, offset = 0, length = 100_000) =>
  driver.read(key, { offset, length });

describeRedis('objects in chunks', (servers) => {
  let running: Promise<RedisServer> | undefined;
  /** A driver, and the keys below its prefix. */
  async function place(options: object = {}) {
    const server = await (running ??= servers().start());
    const given = { ...optionsFor(server), chunk: CHUNK, ...options };
    const driver = await openDriver(given);
    const keys = async (kind = '') => {
      const found = await server.cli('--scan', '--pattern', `${given.prefix}${kind}*`);
      return found.split('\n').filter((key) => key !== '');
    };
    return { server, driver, keys, given };
  }

  it('are one key up to a chunk, and a key more for each further one', async () => {
    const { driver, keys, server } = await place();
    await write(driver, 'small', someBytes(CHUNK, 1));
    expect(await keys()).toEqual([expect.stringMatching(/o:small$/)]);
    await write(driver, 'large', someBytes(SIZE, 2));
    expect(await keys('o:')).toHaveLength(2);
    expect(await keys('c:')).toHaveLength(4);
    const [small = ''] = (await keys('o:small')).map(String);
    expect(Number(await server.cli('STRLEN', small))).toBe(HEAD_BYTES + CHUNK);
  });

  it('expire after a time, all keys of an object', async () => {
    const { driver, keys, server } = await place({ ttlMs: 3_600_000 });
    await write(driver, 'large', someBytes(SIZE, 1));
    const all = await keys();
    expect(all).toHaveLength(5);
    for (const key of all) expect(Number(await server.cli('TTL', key))).toBeGreaterThan(3000);
  });

  it.each([0, 1, 500, 999, 1000, 1001, 2500, 4499, 4500, 9000])(
    'are read from byte %i on',
    async (offset) => {
      const bytes = someBytes(SIZE, 1);
      const { driver, given } = await place();
      await write(driver, 'large', bytes);
      for (const chunk of [300, CHUNK, 100_000]) {
        const other = await openDriver({ ...given, chunk });
        for (const length of [0, 1, 400, 1000, 1700, 10_000]) {
          const got = await read(other, 'large', offset, length);
          expect(Buffer.compare(got, bytes.subarray(offset, offset + length)), `${chunk} ${length}`).toBe(0);
        }
      }
    },
  );

  it('[J2] leave nothing of what they replace, or when they are deleted', async () => {
    const { driver, keys } = await place();
    await write(driver, 'object', someBytes(SIZE, 1));
    await write(driver, 'object', someBytes(2500, 2));
    expect(await keys()).toHaveLength(3);
    await write(driver, 'object', someBytes(10, 3));
    expect(await keys()).toHaveLength(1);
    await write(driver, 'object', someBytes(SIZE, 4));
    await driver.delete('object', {});
    expect(await keys()).toEqual([]);
  });

  it('[J1] [J2] leave nothing of a write that fails', async () => {
    const { driver, keys } = await place();
    const failing = async function* () {
      yield someBytes(3500, 1);
      throw new Error('no more');
    };
    await expect(driver.write('object', failing(), { size: SIZE })).rejects.toThrow('no more');
    expect(await keys()).toEqual([]);
    await write(driver, 'object', someBytes(SIZE, 1));
    await expect(write(driver, 'object', someBytes(SIZE, 2), true)).rejects.toMatchObject({
      code: 'TIERED_EXISTS',
    });
    expect(await keys()).toHaveLength(5);
    expect(Buffer.compare(await read(driver, 'object'), someBytes(SIZE, 1))).toBe(0);
  });

  it('[J1] do not exist as long as they are half written, and expire then', async () => {
    const { driver, keys, server } = await place();
    const steps = new EventEmitter();
    const [isHalf, goOn] = [once(steps, 'half'), once(steps, 'go on')];
    const slow = async function* () {
      yield someBytes(3500, 1);
      steps.emit('half');
      await goOn;
      yield someBytes(1000, 2);
    };
    const writing = driver.write('object', slow(), { size: SIZE });
    await isHalf;
    await expect(driver.stat('object', {})).rejects.toMatchObject({ code: 'TIERED_NOT_FOUND' });
    for (const key of await keys('c:')) expect(Number(await server.cli('PTTL', key))).toBeGreaterThan(0);
    steps.emit('go on');
    await writing;
    expect((await driver.stat('object', {})).size).toBe(SIZE);
  });

  it('[J1] are missing when a chunk is, and what is left is removed', async () => {
    const bytes = someBytes(SIZE, 1);
    for (let lost = 0; lost < 5; lost++) {
      const { driver, keys, server } = await place();
      await write(driver, 'object', bytes);
      const all = [...(await keys('o:')), ...(await keys('c:')).toSorted()];
      await server.cli('DEL', all[lost] ?? '');
      await expect(read(driver, 'object')).rejects.toMatchObject({ code: 'TIERED_NOT_FOUND' });
      await expect(driver.stat('object', {})).rejects.toMatchObject({ code: 'TIERED_NOT_FOUND' });
      if (lost > 0) expect(await keys()).toEqual([]);
      await write(driver, 'object', bytes, true);
      expect(Buffer.compare(await read(driver, 'object'), bytes)).toBe(0);
    }
  });

  it('are not touched by a driver that only reads', async () => {
    const { driver, keys, server, given } = await place();
    await write(driver, 'object', someBytes(SIZE, 1));
    const [lost = ''] = await keys('c:');
    await server.cli('DEL', lost);
    const reader = await openDriver({ ...given, writable: false });
    await expect(read(reader, 'object')).rejects.toMatchObject({ code: 'TIERED_NOT_FOUND' });
    expect(await keys()).toHaveLength(4);
  });

  it('[J2] are of one write, however often they are replaced while they are read', async () => {
    const { driver, keys } = await place();
    const versions = [1, 2, 3].map((seed) => someBytes(SIZE - seed, seed));
    await write(driver, 'object', versions[0] ?? new Uint8Array());
    let isOver = false;
    const writing = (async () => {
      for (let round = 0; round < 100; round++)
        await Promise.all(versions.map((bytes) => write(driver, 'object', bytes)));
      isOver = true;
    })();
    let reads = 0;
    while (!isOver) {
      const got = await read(driver, 'object').catch((error: unknown) => error);
      if (got instanceof Uint8Array)
        expect(versions.some((bytes) => Buffer.compare(bytes, got) === 0)).toBe(true);
      else expect(got).toMatchObject({ code: 'TIERED_UNAVAILABLE', retryable: true });
      reads += 1;
    }
    await writing;
    expect(reads).toBeGreaterThan(0);
    expect(await keys()).toHaveLength(5);
  });

  it('of other programs are told, and left out of listings', async () => {
    const { driver, server, given } = await place();
    const foreign = `${given.prefix}o:foreign`;
    await server.cli('SET', foreign, 'x'.repeat(100));
    await server.cli('SADD', `${given.prefix}o:set`, 'x');
    await write(driver, 'ours', someBytes(10, 1));
    await expect(read(driver, 'foreign')).rejects.toMatchObject({ code: 'TIERED_DATA_CORRUPT' });
    await expect(read(driver, 'set')).rejects.toMatchObject({ code: 'TIERED_DATA_CORRUPT' });
    const leftOut: string[] = [];
    const listed: string[] = [];
    for await (const page of driver.list({ leftOut: (key) => leftOut.push(key) }))
      listed.push(...page.map(({ key }) => key));
    expect(listed).toEqual(['ours']);
    expect(leftOut).toEqual(['foreign']);
  });

  it('with a head that no driver wrote are none, whatever it says', async () => {
    const { driver, server, given } = await place();
    const key = `${given.prefix}o:object`;
    // Size and bytes of a chunk follow the magic number and the id.
    for (const [at, value] of [
      [24, 0xffffffffffffffffn],
      [24, 0x0001_0000_0000_0000n],
      [32, 0n],
    ] as const) {
      await write(driver, 'object', someBytes(SIZE, 1));
      const bytes = Buffer.alloc(8);
      bytes.writeBigUInt64LE(value);
      // A script, since redis-cli takes no NUL in an argument.
      const text = [...bytes].map((byte) => `\\${byte}`).join('');
      await server.cli(
        'EVAL',
        `return redis.call('SETRANGE', KEYS[1], ARGV[1], '${text}')`,
        '1',
        key,
        `${at}`,
      );
      await expect(read(driver, 'object')).rejects.toMatchObject({ code: 'TIERED_DATA_CORRUPT' });
      await expect(driver.stat('object', {})).rejects.toMatchObject({ code: 'TIERED_DATA_CORRUPT' });
      await driver.delete('object', {});
    }
    const size = 2 ** 20 * CHUNK + 1;
    const huge = driver.write('huge', (async function* () {})(), { size });
    await expect(huge).rejects.toMatchObject({ code: 'TIERED_TOO_LARGE' });
  });

  it('are listed by prefix, whatever stands in their keys', async () => {
    const { driver } = await place();
    const names = ['a*b', 'a?b', 'a[b]', 'a\\b', 'a^b', 'axb', 'a{1}b', 'ü/*', 'a\nb'];
    for (const name of names) await write(driver, `${name}/x`, someBytes(1, 1));
    for (const name of names) {
      const keys: string[] = [];
      for await (const page of driver.list({ prefix: name })) keys.push(...page.map(({ key }) => key));
      expect(keys).toEqual([`${name}/x`]);
    }
  });

  describe('in batches', () => {
    it('are read in one round trip where they are small', async () => {
      const { driver, server } = await place();
      const keys = Array.from({ length: 300 }, (_, i) => `object/${i}`);
      await Promise.all(keys.map((key, i) => write(driver, key, someBytes(700, i))));
      const calls = async () =>
        Number(/total_reads_processed:(\d+)/.exec(await server.cli('INFO', 'stats'))?.[1]);
      const requests = keys.map((key) => ({ key, offset: 0, target: new Uint8Array(700) }));
      await driver.readMany(requests, {});
      const before = await calls();
      const outcomes = await driver.readMany(requests, {});
      // What the server reads from its sockets: a batch, and the two clients that ask it.
      expect((await calls()) - before).toBeLessThan(10);
      expect(outcomes.every((outcome) => 'bytes' in outcome && outcome.bytes === 700)).toBe(true);
      for (const [i, { target }] of requests.entries())
        expect(Buffer.compare(target, someBytes(700, i))).toBe(0);
    });
  });
});
