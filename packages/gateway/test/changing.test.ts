import { ListObjectsCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import type { Hierarchy, HierarchyOptions, ListOptions, ObjectStat } from '@tiered/core';
import { InterceptingDriver, type DriverCall } from '@tiered/core/driver';
import { FaultDriver } from '@tiered/core/testing';
import { describe, expect, it } from 'vitest';
import { BUCKET, clientOf, codeIn, gatewayOn, hierarchyOn, send, sourceOf } from './helpers.js';

const OLD = Buffer.from('old');
const NEW = Buffer.from('newer');
const LOG = 't/_log/1';

interface Served {
  readonly changing?: readonly string[];
  readonly prefix?: string;
  readonly options?: Partial<HierarchyOptions>;
}

/** Counts what the source is asked. */
class CountedSource extends InterceptingDriver {
  readonly asked = { stat: 0, list: 0 };

  override list(options: ListOptions): AsyncGenerator<readonly ObjectStat[], void, undefined> {
    this.asked.list += 1;
    return super.list(options);
  }

  protected override intercept<T>(call: DriverCall<T>): Promise<T> {
    if (call.operation === 'stat') this.asked.stat += 1;
    return call.proceed();
  }
}

async function served(keys: readonly string[], { changing = ['**/_log/*'], prefix, options }: Served = {}) {
  const storage = await sourceOf(Object.fromEntries(keys.map((key) => [key, OLD])));
  const source = new CountedSource(storage);
  const hierarchy = await hierarchyOn(source, options);
  const gateway = await gatewayOn({ hierarchy, changing, prefix });
  const write = (key: string, bytes = NEW) => storage.write(key, bytes, { size: bytes.byteLength });
  const asked = (operation: 'stat' | 'list') => source.asked[operation];
  return { storage, hierarchy, gateway, client: clientOf(gateway), write, asked };
}

async function place(hierarchy: Hierarchy, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) await hierarchy.place(key);
  await hierarchy.idle();
}

describe('objects that change', () => {
  it.each(['GET', 'HEAD'])('[X5] are as the source has them, for a %s', async (method) => {
    const { storage, hierarchy, gateway, write } = await served([LOG, 't/data']);
    await place(hierarchy, LOG, 't/data');
    const ask = async (key: string) => {
      const { status, headers, body } = await send(gateway, `/${BUCKET}/${key}`, { method });
      return [status, headers['content-length'], headers['x-tiered-from'], body.toString()];
    };
    const bodyOf = (bytes: Buffer) => (method === 'GET' ? bytes.toString() : '');
    for (const key of [LOG, 't/data', 't/_log/2']) await write(key);
    expect(await ask(LOG)).toEqual([200, '5', 'source', bodyOf(NEW)]);
    expect(await ask('t/_log/2')).toEqual([200, '5', 'source', bodyOf(NEW)]);
    expect(await ask('t/data')).toEqual([200, '3', 'ram', bodyOf(OLD)]);
    for (const key of [LOG, 't/data']) await storage.delete(key, {});
    expect((await ask(LOG))[0]).toBe(404);
    expect((await ask('t/data'))[0]).toBe(200);
  });

  it('[X5] come from a tier as long as they are the same', async () => {
    const { hierarchy, gateway, asked } = await served([LOG]);
    await place(hierarchy, LOG);
    const before = hierarchy.stats().source.reads;
    const { headers, body } = await send(gateway, `/${BUCKET}/${LOG}`);
    expect([headers['x-tiered-from'], body]).toEqual(['ram', OLD]);
    expect(hierarchy.stats().source.reads).toBe(before);
    expect(asked('stat')).toBe(1);
  });

  it('[X5] are looked at anew in a batch', async () => {
    const { storage, gateway, write } = await served([LOG, 't/_log/2']);
    await write(LOG);
    await storage.delete('t/_log/2', {});
    const items = { in: [{ objname: LOG }, { objname: 't/_log/2' }], coer: true, strm: true };
    const body = Buffer.from(JSON.stringify(items));
    const answer = await send(gateway, `/v1/ml/moss/${BUCKET}`, { body });
    const [first, missing] = [answer.body.subarray(512, 517), answer.body.toString('latin1', 1024, 1100)];
    expect(first).toEqual(NEW);
    expect(missing).toMatch(`__404__/${BUCKET}/t/_log/2`);
  });

  it('[X4] [X5] are 504 for a client that takes nothing that the source has to be asked for', async () => {
    const { hierarchy, gateway, asked } = await served([LOG]);
    await place(hierarchy, LOG);
    const headers = { 'cache-control': 'only-if-cached' };
    expect(await send(gateway, `/${BUCKET}/${LOG}`, { headers })).toMatchObject({ status: 504 });
    expect(asked('stat')).toBe(0);
  });

  it('[X5] are an error if the source does not say', async () => {
    const rules = [{ operations: ['stat' as const, 'list' as const], fault: { kind: 'fail' as const } }];
    const storage = await sourceOf({ [LOG]: OLD });
    const hierarchy = await hierarchyOn(storage);
    await place(hierarchy, LOG);
    const source = new FaultDriver(storage, { rules });
    const failing = await hierarchyOn(source, { scan: false });
    const gateway = await gatewayOn({ hierarchy: failing, changing: ['**/_log/*'] });
    const answer = await send(gateway, `/${BUCKET}/${LOG}`);
    expect([answer.status, codeIn(answer)]).toEqual([503, 'SlowDown']);
  });

  it('[X5] are told by their keys without the prefix of the bucket', async () => {
    const keys = ['_log/1', 'x'];
    const { gateway, write } = await served(keys, { changing: ['_log/*'], prefix: 'a/b/' });
    await write('_log/1');
    expect((await send(gateway, `/${BUCKET}/a/b/_log/1`)).body).toEqual(NEW);
  });
});

describe('listings where keys change', () => {
  const KEYS = ['t/_log/1', 't/_log/2', 't/data/1'];

  function listedBy(client: ReturnType<typeof clientOf>, how: 'V1' | 'V2' = 'V2') {
    return async (Prefix: string, options: object = {}) => {
      const input = { Bucket: BUCKET, Prefix, ...options };
      const command = how === 'V1' ? new ListObjectsCommand(input) : new ListObjectsV2Command(input);
      const { Contents = [] } = await client.send(command);
      return Contents.map(({ Key, Size }) => `${Key} ${Size}`);
    };
  }

  it.each(['V1', 'V2'] as const)('[X5] show what the source has now (%s)', async (how) => {
    const { storage, client, write, asked } = await served(KEYS);
    const list = listedBy(client, how);
    for (const key of ['t/_log/2', 't/_log/3', 't/data/2']) await write(key);
    await storage.delete('t/_log/1', {});
    expect(await list('t/_log/', { Delimiter: '/' })).toEqual(['t/_log/2 5', 't/_log/3 5']);
    expect(await list('t/_log/3')).toEqual(['t/_log/3 5']);
    expect(asked('list')).toBe(3);
    // Nothing directly in these directories matches.
    expect(await list('t/data/')).toEqual(['t/data/1 3']);
    expect(await list('t/_log')).toEqual(['t/_log/2 5', 't/_log/3 5']);
    expect(asked('list')).toBe(3);
    for (const key of ['t/_log/2', 't/_log/3']) await storage.delete(key, {});
    expect(await list('t/_log/')).toEqual([]);
  });

  it('[X5] ask the source once for all pages', async () => {
    const { client, asked } = await served(KEYS);
    const first = await client.send(
      new ListObjectsV2Command({ Bucket: BUCKET, Prefix: 't/_log/', MaxKeys: 1 }),
    );
    const before = asked('list');
    const rest = await client.send(
      new ListObjectsV2Command({
        ...{ Bucket: BUCKET, Prefix: 't/_log/', ContinuationToken: first.NextContinuationToken },
      }),
    );
    expect(rest.Contents?.map(({ Key }) => Key)).toEqual(['t/_log/2']);
    expect([before, asked('list')]).toEqual([2, 2]);
    await listedBy(client)('t/_log/', { StartAfter: 't/_log/1' });
    expect(asked('list')).toBe(3);
  });

  it.each([
    [['**'], ['', 't/', 't/data/']],
    [['**/*.json'], ['', 't/', 'none/of/these']],
    [['*.json'], ['', 'x']],
    [['t/{_log,meta}/**'], ['t/_log/', 't/_log/deep/down/', 't/meta/1']],
    [['t/data/1'], ['t/data/', 't/data/1']],
  ])('[X5] by the globs %j are these: %j', async (changing, prefixes) => {
    const { client, asked } = await served(KEYS, { changing });
    const list = listedBy(client);
    for (const [index, prefix] of prefixes.entries()) {
      await list(prefix);
      // Where nothing is, it is looked at whether the source has anything.
      expect(asked('list'), prefix).toBeGreaterThan(1 + index);
    }
    const before = asked('list');
    if (!changing.some((glob) => glob.startsWith('**'))) await list('t/other/');
    expect(asked('list')).toBe(before);
  });

  it('[X5] of a bucket with a prefix are asked for by the keys of the source', async () => {
    const { client, write } = await served(['_log/1', 'x'], { changing: ['_log/*', '*'], prefix: 'a/b/' });
    await write('_log/2');
    const list = listedBy(client);
    expect(await list('a/b/_log/')).toEqual(['a/b/_log/1 3', 'a/b/_log/2 5']);
    await write('y');
    expect(await list('a/')).toContain('a/b/y 5');
    await write('z');
    expect(await list('other/')).toEqual([]);
    expect(await list('a/b/')).toContain('a/b/z 5');
  });
});

it.each([['/a/*'], ['!a'], ['']])('[X5] the glob "%s", which no key has, is refused', async (glob) => {
  await expect(served([LOG], { changing: [glob] })).rejects.toMatchObject({
    code: 'TIERED_CONFIG_INVALID',
    message: expect.stringContaining('buckets.data.changing') as string,
  });
});
