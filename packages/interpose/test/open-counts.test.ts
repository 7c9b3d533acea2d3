import { ManualClock } from '@tiered/core/testing';
import { describe, expect, it } from 'vitest';
import { FilesBySize, OpenCounts } from '../src/daemon/open-counts.js';

const FILES = 100;
const BYTES = 1000;
const clock = new ManualClock();
const counts = (bytes: (id: number) => number = () => BYTES) =>
  new OpenCounts({ sizeOf: bytes, count: FILES }, clock);

/** The numbers up to a count, in an order of their own for each seed. */
const shuffled = (seed: number, count = FILES) =>
  Array.from({ length: count }, (_, i) => ({ i, at: Math.sin(seed * 1000 + i) }))
    .sort((a, b) => a.at - b.at)
    .map(({ i }) => i);

/** Opens all files as a tier with room for some does that keeps what it took first. */
function epoch(of: OpenCounts, order: readonly number[], held: Set<number>, room: number, opens = 1): void {
  for (const id of order)
    for (let again = 0; again < opens; again++) {
      of.opened(id, held.has(id) ? 'copy' : 'source');
      if (again === opens - 1 && held.size < room) held.add(id);
    }
}

describe('what programs opened', () => {
  it.each([1, 3])('is told by epochs whose order differs, where a sample is opened %i times', (opens) => {
    const of = counts();
    const held = new Set<number>();
    for (let i = 0; i < 4; i++) epoch(of, shuffled(i + 1), held, FILES, opens);
    const { epochs } = of;
    expect(epochs).toHaveLength(4);
    // The first file of an epoch may have been one of the last ones before.
    const near = ({ opens: count }: { readonly opens: number }) =>
      Math.abs(count - FILES * opens) <= 5 * opens;
    expect(epochs.every(near)).toBe(true);
    expect(epochs.slice(1).map(({ sourceBytes }) => sourceBytes)).toEqual([0, 0, 0]);
    expect(of.total).toMatchObject({ opens: 4 * FILES * opens, redirected: 3 * FILES * opens });
  });

  it('is told with the time that each epoch took', async () => {
    const of = counts();
    const begin = clock.now();
    const times = [700, 30, 30];
    for (const ms of times) {
      for (const id of shuffled(1)) {
        of.opened(id, 'source');
        if (id === 0) await clock.run(clock.sleep(ms));
      }
    }
    expect(clock.now() - begin).toBe(760);
    expect(of.epochs.map(({ ms }) => ms)).toEqual(times);
  });

  it('is one run where epochs cannot be told: one pass, a few files again and again, other files each time', () => {
    const once = counts();
    for (const id of shuffled(1)) once.opened(id, 'source');
    const few = counts();
    for (let i = 0; i < 300; i++) few.opened(i % 4, 'source');
    const parts = counts();
    for (let i = 0; i < 300; i++) parts.opened((i % 10) + 10 * Math.floor(i / 30), 'source');
    expect([once.epochs, few.epochs, parts.epochs]).toEqual([[], [], []]);
    expect(few.total).toEqual({ opens: 300, redirected: 0, sourceBytes: 300 * BYTES, copyBytes: 0 });
  });

  it('takes what is opened often at first for the beginning of the first epoch', () => {
    const of = counts();
    for (let i = 0; i < 30; i++) of.opened(i % 10, 'source');
    for (let i = 0; i < 3; i++) epoch(of, shuffled(i + 1), new Set(), 0);
    expect(of.epochs).toHaveLength(3);
    expect(of.epochs.reduce((sum, { opens }) => sum + opens, 0)).toBe(of.total.opens);
  });

  it('can find copies at most so often: what fits, after the first time', () => {
    const of = counts();
    const held = new Set<number>();
    const order = shuffled(1);
    for (let i = 0; i < 3; i++) epoch(of, order, held, 56);
    expect(of.total.redirected).toBe(2 * 56);
    expect(of.most(56 * BYTES)).toBe(2 * 56);
    expect(of.most(FILES * BYTES)).toBe(2 * FILES);
    // Room that was not used is told.
    expect(of.most(91 * BYTES)).toBe(2 * 91);
  });

  it('counts copies that were there at first, and those that are not checked yet, as possible', () => {
    const of = counts();
    for (const id of shuffled(1)) of.opened(id, id < 30 ? 'copy' : id < 50 ? 'kept' : 'source');
    expect([of.total.redirected, of.most(FILES * BYTES)]).toEqual([30, 50]);
  });
});

describe('files by size', () => {
  it('have no more room than the smallest ones', () => {
    const files = new FilesBySize();
    const sizes = Array.from({ length: 500 }, (_, i) => (i * 7919) % 100_000);
    for (const bytes of sizes) files.add(bytes);
    const sorted = [...sizes].sort((a, b) => a - b);
    for (const room of [0, 10, 5000, 1e6, 1e7, 2e7]) {
      let [left, fit] = [room, 0];
      while (fit < sorted.length && (sorted[fit] ?? 0) <= left) left -= sorted[fit++] ?? 0;
      const most = files.mostWithin(room);
      expect(most).toBeGreaterThanOrEqual(fit);
      // Sizes of one group differ by a fifth.
      expect(most).toBeLessThanOrEqual(1.2 * fit + 1);
    }
    expect(files.mostWithin(1e9)).toBe(500);
  });
});
