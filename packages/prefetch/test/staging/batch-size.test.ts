import { describe, expect, it } from 'vitest';
import { BatchSize } from '../../src/staging/batch-size.js';

const MIB = 2 ** 20;
const QUEUE = { readsBatches: true, memory: { limit: 16 * MIB } };
const PRODUCERS = 8;
const MOST = 64;

/**
 * Reads by a producer as its batch size says, until so many samples were read; returns the sizes of the
 * batches.
 */
function readAll(
  size: BatchSize,
  samples: number,
  ms: (batch: number) => number,
  queue = QUEUE,
  place: (read: number) => number = () => 0,
): number[] {
  const batches: number[] = [];
  for (let read = 0; read < samples;) {
    const batch = size.limits(queue, PRODUCERS, MOST, MOST).samples;
    size.began(batch);
    size.ended(batch, ms(batch), batch === 1 ? PRODUCERS : 1, place(batches.length));
    batches.push(batch);
    read += batch;
  }
  return batches;
}

/** Eight under way in Node's thread pool; 30 us a file in a thread. */
const fromMemory = (batch: number) => (batch === 1 ? 1.3 : batch * 0.03);
/** Five milliseconds a request, however many there are. */
const fromAfar = () => 5;

describe('the size of batches', () => {
  it('is found by a few reads where storage is as fast as memory, and there is use for fewer producers then', () => {
    const size = new BatchSize();
    expect(size.usable(QUEUE, MOST)).toBe(MOST);
    const batches = readAll(size, 1000, fromMemory);
    expect(batches.filter((batch) => batch === 1).length).toBeLessThan(50);
    expect(batches.at(-1)).toBe(16);
    expect(size.usable(QUEUE, MOST)).toBe(4);
  });

  it('is never more than one where reads are slow, or nothing reads batches', () => {
    expect(new Set(readAll(new BatchSize(), 10_000, fromAfar))).toEqual(new Set([1]));
    const single = { ...QUEUE, readsBatches: false };
    expect(new Set(readAll(new BatchSize(), 10_000, fromMemory, single))).toEqual(new Set([1]));
  });

  it('is tried rarely where many slow reads at a time look like fast ones', () => {
    const batches = readAll(new BatchSize(), 100_000, (batch) => (batch === 1 ? 3 : 12));
    expect(batches.filter((batch) => batch > 1).length).toBeLessThan(10);
  });

  it('is found on a busy machine too, where reads wait for the processor and few of them come at once', () => {
    const size = new BatchSize();
    let reads = 0;
    const onBusyMachine = (batch: number) => {
      reads += 1;
      if (batch === 1) return reads % 10 === 0 ? 0.8 : 12;
      return reads % 4 === 0 ? 1 : 9;
    };
    const batches = readAll(size, 20_000, onBusyMachine);
    expect(batches.filter((batch) => batch === 1).length).toBeLessThan(1000);
  });

  it('is tried rarely where a tier is fast beside a slow source', () => {
    let reads = 0;
    const ofTierOrSource = (batch: number) => (batch === 1 ? (reads++ % 2 === 0 ? 0.1 : 12) : 15);
    const batches = readAll(new BatchSize(), 100_000, ofTierOrSource, QUEUE, (read) => read % 2);
    expect(batches.filter((batch) => batch > 1)).toEqual([]);
  });

  it('is tried again soon when storage is fast once more', () => {
    const size = new BatchSize();
    for (let epoch = 0; epoch < 6; epoch++) {
      readAll(size, 2000, (batch) => (batch === 1 ? 3 : batch * 2));
      const batches = readAll(size, 100_000, fromMemory);
      expect(batches.filter((batch) => batch === 1).length).toBeLessThan(5000);
    }
  });

  it('is tried while nothing else is read', () => {
    const size = new BatchSize();
    readAll(size, 16, fromMemory);
    expect(size.isAlone(QUEUE)).toBe(true);
    size.began(size.limits(QUEUE, PRODUCERS, MOST, MOST).samples);
    expect(size.isAlone(QUEUE), 'while it is read').toBe(true);
    size.ended(16, 100, 1, 0);
    expect(size.isAlone(QUEUE), 'after it was slow').toBe(false);
  });

  it('is given up without room for two samples, so that producers do not go on one by one', () => {
    const size = new BatchSize();
    readAll(size, 16, fromMemory);
    size.began(1);
    expect(size.isAlone(QUEUE)).toBe(false);
  });

  it('is one again when storage has become slow, and not for a slow batch or two', () => {
    const size = new BatchSize();
    readAll(size, 1000, fromMemory);
    readAll(size, 160, (batch) => batch * 2);
    expect(size.usable(QUEUE, MOST)).toBe(4);
    readAll(size, 1000, (batch) => batch * 2);
    expect(size.usable(QUEUE, MOST)).toBe(MOST);
    expect(size.limits(QUEUE, PRODUCERS, MOST, MOST).samples).toBe(1);
  });

  it('keeps to the budget of requests', () => {
    for (const most of [1, 3, 8, 64]) {
      const size = new BatchSize();
      for (let i = 0; i < 100; i++) {
        const { samples } = size.limits(QUEUE, PRODUCERS, most, most);
        size.began(samples);
        size.ended(samples, fromMemory(samples), samples === 1 ? PRODUCERS : 1, 0);
        expect(samples).toBeLessThanOrEqual(most);
      }
      const { samples } = size.limits(QUEUE, PRODUCERS, most, most);
      expect(samples * size.usable(QUEUE, most)).toBeLessThanOrEqual(most);
      expect(samples * size.usable(QUEUE, most)).toBeGreaterThan(most / 2);
    }
  });
});
