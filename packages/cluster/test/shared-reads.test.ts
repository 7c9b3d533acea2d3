import { describe, expect, it } from 'vitest';
import { objectsOf, sourceOf, workers, type Objects, type Worker } from './helpers.js';

const N = 4;

async function readAll({ hierarchy }: Worker, objects: Objects): Promise<void> {
  await Promise.all(
    [...objects].map(async ([key, bytes]) =>
      expect(Buffer.compare(await hierarchy.read(key), bytes), key).toBe(0),
    ),
  );
}

const total = (objects: Objects) =>
  [...objects.values()].reduce((sum, { byteLength }) => sum + byteLength, 0);

describe('workers that share by hashing', () => {
  it('[Z3] read each byte of the source once, all together, in the first epoch and never again', async () => {
    const objects = objectsOf(60);
    const all = await workers(N, { source: await sourceOf(objects) });
    for (let epoch = 0; epoch < 3; epoch++) {
      await Promise.all(all.map((one) => readAll(one, objects)));
      await Promise.all(all.map(({ hierarchy }) => hierarchy.idle()));
      expect(all.reduce((sum, { sourceBytes }) => sum + sourceBytes(), 0)).toBe(total(objects));
    }
    for (const { cluster } of all) expect(cluster.stats()).toMatchObject({ inVain: 0, members: N });
    const placed = all.map(({ hierarchy }) => hierarchy.stats().placement.placed);
    expect(placed.reduce((sum, one) => sum + one)).toBe(objects.size);
    expect(Math.min(...placed)).toBeGreaterThan(0);
  });
});
