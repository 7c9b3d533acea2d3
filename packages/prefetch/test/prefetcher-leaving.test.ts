import { listSequence, Prefetcher, type SampleSource } from '@tiered/prefetch';
import { describe, expect, it } from 'vitest';
import {
  collect,
  expectIdle,
  HoldingDriver,
  keys,
  listenersOn,
  next,
  objects,
  outcomeOf,
  over,
  settled,
  withCode,
} from './helpers.js';

const SIZES = Array.from({ length: 10 }, (_, i) => 100 + i);
const sequence = listSequence(keys(10));

/** A source that cannot be hurried: its reads end when the test says so, whatever their signal. */
class Unhurried implements SampleSource {
  readonly signals: AbortSignal[] = [];
  readonly #held: (() => void)[] = [];

  async stat(key: string) {
    return { key, size: 10 };
  }

  async readInto(
    _: string,
    target: Uint8Array,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<number> {
    if (signal !== undefined) this.signals.push(signal);
    await new Promise<void>((resolve) => this.#held.push(resolve));
    return target.byteLength;
  }

  /** Reads that have not ended. */
  get underWay(): number {
    return this.#held.length;
  }

  async release(count: number): Promise<void> {
    for (const release of this.#held.splice(0, count)) release();
    await settled();
  }
}

describe('leaving early', () => {
  it.each(['break', 'close', 'asyncDispose'])(
    'by %s stops every read, and waits until it has stopped',
    async (way) => {
      const source = new Unhurried();
      const controller = new AbortController();
      const { signal } = controller;
      const prefetcher = new Prefetcher(source, sequence, { producers: 3, signal });
      await settled();
      const leave = async () => {
        if (way === 'close') return prefetcher.close();
        if (way === 'asyncDispose') return prefetcher[Symbol.asyncDispose]();
        for await (const sample of prefetcher) if (sample.position === 0) break;
      };
      const left = outcomeOf(leave().then(() => 'left'));
      await settled();
      if (way === 'break') await source.release(1);
      const begun = source.signals.length;
      expect(source.underWay).toBeGreaterThan(1);
      expect(source.signals.every(({ aborted }) => aborted)).toBe(true);
      await source.release(source.underWay - 1);
      expect(left).toEqual({});
      await source.release(1);
      expect(left).toEqual({ value: 'left' });
      expectIdle(prefetcher);
      expect(listenersOn(signal)).toBe(0);
      await expect(next(prefetcher)).rejects.toEqual(withCode('TIERED_CLOSED'));
      expect(source.signals, 'none began afterwards').toHaveLength(begun);
    },
  );

  it('can be done twice, at the same time too', async () => {
    const source = new Unhurried();
    const prefetcher = new Prefetcher(source, sequence, { producers: 2 });
    await settled();
    const both = [outcomeOf(prefetcher.close()), outcomeOf(prefetcher.close())];
    await source.release(1);
    expect(both).toEqual([{}, {}]);
    await source.release(1);
    expect(both).toEqual([{ value: undefined }, { value: undefined }]);
    await prefetcher.close();
  });

  it('ends the waits of those who ask by name, though the read ends well', async () => {
    const source = new Unhurried();
    const prefetcher = new Prefetcher(source, sequence, { producers: 1 });
    await settled();
    const read = outcomeOf(prefetcher.readInto('0', new Uint8Array(10)));
    await settled();
    const closed = outcomeOf(prefetcher.close());
    await source.release(1);
    expect([read, closed]).toEqual([{ error: withCode('TIERED_CLOSED') }, { value: undefined }]);
    expectIdle(prefetcher);
    expect(prefetcher.state()).toMatchObject({ epoch: 0, position: 0, taken: [] });
  });

  it('ends the waits of consumers', async () => {
    const driver = new HoldingDriver(await objects(SIZES));
    const prefetcher = new Prefetcher(await over(driver), sequence, { producers: 1 });
    const calls = Array.from({ length: 3 }, () => outcomeOf(next(prefetcher)));
    await settled();
    const closed = prefetcher.close();
    await settled();
    expect(calls).toEqual(calls.map(() => ({ error: withCode('TIERED_CLOSED') })));
    await driver.release();
    await closed;
    expectIdle(prefetcher);
  });
});

it('[P4] a sample that was released, also by closing, cannot be read any more', async () => {
  const prefetcher = new Prefetcher(await over(await objects(SIZES)), sequence);
  const [first, second] = [...(await prefetcher.take(1)), ...(await prefetcher.take(1))];
  expect(first?.data.byteLength).toBe(100);
  first?.release();
  expect(() => first?.data).toThrow(withCode('TIERED_CLOSED'));
  first?.release();
  expect(second?.data.byteLength).toBe(101);
  await prefetcher.close();
  expect(() => second?.data).toThrow(withCode('TIERED_CLOSED'));
  expectIdle(prefetcher);
});

it('many producers make Node warn of nothing', async () => {
  const warnings: Error[] = [];
  const note = (warning: Error) => warnings.push(warning);
  process.on('warning', note);
  const driver = new HoldingDriver(await objects(SIZES));
  const prefetcher = new Prefetcher(await over(driver), sequence, { producers: 10 });
  await settled();
  expect(driver.held).toHaveLength(10);
  while (driver.held.length > 0) await driver.release();
  await collect(prefetcher);
  process.off('warning', note);
  expect(warnings).toEqual([]);
});
