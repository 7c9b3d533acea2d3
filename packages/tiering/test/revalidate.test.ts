import { IndexedMemoryDriver, someBytes } from '@tiered/core/testing';
import { expect, it, onTestFinished } from 'vitest';
import { copyNames, memoryWith, objectsOf, startHierarchy } from './helpers.js';

async function placed() {
  const [source, tier] = [await memoryWith(objectsOf([20, 20])), new IndexedMemoryDriver()];
  const hierarchy = await startHierarchy(source, [{ driver: tier, quota: 1000 }]);
  onTestFinished(() => hierarchy.close());
  for (const key of ['0', '1']) await hierarchy.place(key);
  const dropped: string[] = [];
  hierarchy.on('dropped', ({ key, reason }) => dropped.push(`${key} ${reason}`));
  const copies = async () => {
    await hierarchy.idle();
    return [...(await copyNames(tier)).keys()];
  };
  return { source, hierarchy, dropped, copies };
}

it('[V2] revalidate keeps the copy of an object that is the same, and drops that of another version', async () => {
  const { source, hierarchy, dropped, copies } = await placed();
  expect(await hierarchy.revalidate('0')).toMatchObject({ size: 20, level: 0 });
  const fresh = someBytes(20, 9);
  await source.write('1', fresh, { size: 20 });
  expect(await hierarchy.read('1')).not.toEqual(fresh);
  expect(await hierarchy.revalidate('1')).toMatchObject({ size: 20, level: 1 });
  expect(dropped).toEqual(['1 outdated']);
  expect(await copies()).toEqual(['0']);
  expect(await hierarchy.read('1')).toEqual(fresh);
});

it.each(['revalidate', 'rescan'] as const)(
  '[V2] %s deletes the copy of an object that is gone',
  async (how) => {
    const { source, hierarchy, dropped, copies } = await placed();
    await source.delete('1', {});
    if (how === 'rescan') await hierarchy.rescan({ prefix: '1' });
    else await expect(hierarchy.revalidate('1')).rejects.toMatchObject({ code: 'TIERED_NOT_FOUND' });
    expect(dropped).toEqual(['1 outdated']);
    expect(await copies()).toEqual(['0']);
    await expect(hierarchy.read('1')).rejects.toMatchObject({ code: 'TIERED_NOT_FOUND' });
  },
);
