import { Hierarchy, MemoryDriver, MetadataContainer } from '@tiered/core';
import { MetricsDriver } from '@tiered/core/decorators';
import { expect, it } from 'vitest';

async function sourceWith(...keys: string[]): Promise<MemoryDriver> {
  const source = new MemoryDriver();
  for (const key of keys) await source.write(key, Buffer.from(key), { size: key.length });
  return source;
}

it('a hierarchy works with the namespace that it was given: what that knows costs no stat', async () => {
  const storage = await sourceWith('known', 'new');
  const source = new MetricsDriver(storage);
  const metadata = new MetadataContainer(0);
  metadata.put(await storage.stat('known', {}));
  await using hierarchy = await new Hierarchy({ source, scan: false, metadata }).open();
  expect(Buffer.from(await hierarchy.read('known')).toString()).toBe('known');
  expect(source.metrics().operations.stat).toBeUndefined();
  await hierarchy.read('new');
  expect(source.metrics().operations.stat?.count).toBe(1);
  expect([hierarchy.namespace, metadata.count]).toEqual([metadata, 2]);
});

it('a namespace of another number of tiers, with copies, beside a manifest, or of another hierarchy is refused', async () => {
  const source = await sourceWith('a');
  const make = (options: object) => new Hierarchy({ source, ...options });
  const refused = (options: object, message: RegExp) => {
    const made = new Promise(() => make(options));
    const matching = expect.stringMatching(message) as string;
    return expect(made).rejects.toMatchObject({ code: 'TIERED_CONFIG_INVALID', message: matching });
  };
  await refused({ metadata: new MetadataContainer(1) }, /^metadata: .*new MetadataContainer\(0\)/);
  await refused({ metadata: {} }, /^metadata: .*new MetadataContainer\(0\)/);
  await refused({ metadata: new MetadataContainer(0), manifest: 'file' }, /^metadata: .*manifest/);
  const metadata = new MetadataContainer(0);
  await using first = await make({ metadata }).open();
  await expect(make({ metadata }).open()).rejects.toMatchObject({
    code: 'TIERED_ALREADY_OPEN',
    message: expect.stringMatching(/^metadata: .*make a new MetadataContainer/) as string,
  });
  expect(await first.read('a')).toHaveLength(1);
});
