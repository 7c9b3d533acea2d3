import { MemoryDriver, systemClock } from '@tiered/core';
import { Tier } from '@tiered/core/internal';
import { HoldingDriver, settled } from '@tiered/core/testing';
import { expect, it } from 'vitest';
import { PrivateStore } from '../../src/store/private-store.js';
import type { Copy } from '../../src/tier/tier-store.js';

const SIZE = 100;

/** A store whose deletions wait until they are released, and what places copies in it. */
function storeThatHolds() {
  const memory = new MemoryDriver();
  const driver = new HoldingDriver(memory, { operations: ['delete'] });
  const store = new PrivateStore(new Tier(0, { driver, quota: 1000 }, systemClock), 'set');
  const place = (version: string): Promise<Copy> => {
    const claim = store.claim({ key: 'k', version, size: SIZE, chunkBytes: SIZE }, SIZE);
    if (claim === undefined) throw new Error('there is no room');
    const content = { size: SIZE, bytes: SIZE, chunkBytes: SIZE, sums: [0n] };
    const turn = <T>(work: () => Promise<T>) => work();
    return claim.write(new Uint8Array(SIZE), content, { turn });
  };
  const held = async () => {
    const names: string[] = [];
    for await (const page of memory.list({})) names.push(...page.map(({ key }) => key));
    return names;
  };
  return { driver, store, place, held };
}

it('[Q1] a copy that is removed twice at the same time gives back its bytes once', async () => {
  const { driver, store, place } = storeThatHolds();
  const [copy] = [await place('1'), await place('2')];
  const removals = [store.remove(copy), store.remove(copy)];
  await driver.releaseAll();
  await Promise.all(removals);
  expect(store.usedBytes).toBe(SIZE);
});

it('[Q1] a copy that came while another one of its object was being removed stays in the books', async () => {
  const { driver, store, place, held } = storeThatHolds();
  const old = await place('1');
  const removal = store.remove(old);
  await settled();
  const copy = await place('2');
  await driver.releaseAll();
  await removal;
  expect({ copies: await store.find('k'), used: store.usedBytes, held: await held() }).toEqual({
    copies: [copy],
    used: SIZE,
    held: [copy.name],
  });
});

it('[R1] a copy that is removed again, after it has gone, takes no other copy of its name with it', async () => {
  const { driver, store, place, held } = storeThatHolds();
  const old = await place('1');
  const removal = store.remove(old);
  await driver.releaseAll();
  await removal;
  const copy = await place('2');
  expect(copy.name).toBe(old.name);
  const again = store.remove(old);
  await driver.releaseAll();
  await again;
  expect({ held: await held(), used: store.usedBytes }).toEqual({ held: [copy.name], used: SIZE });
});
