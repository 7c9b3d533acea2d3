import { listSequence, Prefetcher, type SampleSource } from '@tiered/prefetch';
import { describe, expect, it } from 'vitest';
import {
  collect,
  expectIdle,
  HoldingDriver,
  keys,
  listenersOn,
  objects,
  outcomeOf,
  over,
  settled,
} from './helpers.js';

const SIZES = Array.from({ length: 10 }, (_, i) => 100 + i);
const sequence = listSequence(keys(10));
const done = { done: true, value: undefined };

/** A source that cannot be hurried: its reads end when the test says so, whatever their signal. */
class Unhurried implements SampleSource {
  readonly signals: AbortSignal[] = [];
  readonly #held: (() => void)[] = [];

  async stat(key: string) {
    return { key, size: 10, version: '1', level: 0 };
  }

  async read(_: string, { signal }: { signal?: AbortSignal | undefined } = {}): Promise<Uint8Array> {
    if (signal !== undefined) this.signals.push(signal);
    await new Promise<void>((resolve) => this.#held.push(resolve));
    return new Uint8Array(10);
  }

  async release(count: number): Promise<void> {
    for (const release of this.#held.splice(0, count)) release();
    await settled();
  }
}

describe('leaving early', () => {
  it.each(['break', 'return', 'asyncDispose'])(
    'by %s stops every read, and waits until it has stopped',
    async (way) => {
      const source = new Unhurried();
      const controller = new AbortController();
      const { signal } = controller;
      const prefetcher = new Prefetcher(source, sequence, { producers: 3, signal });
      await settled();
      const leave = async () => {
        if (way === 'return') return prefetcher.return();
        if (way === 'asyncDispose') return prefetcher[Symbol.asyncDispose]();
        for await (const sample of prefetcher) if (sample.position === 0) break;
      };
      const left = outcomeOf(leave().then(() => 'left'));
      await settled();
      if (way === 'break') await source.release(1);
      expect(prefetcher.stats().heldBytes, 'what nobody takes is let go at once').toBe(0);
      expect(source.signals.slice(-3).map(({ aborted }) => aborted)).toEqual([true, true, true]);
      await source.release(2);
      expect(left).toEqual({});
      await source.release(1);
      expect(left).toEqual({ value: 'left' });
      expectIdle(prefetcher);
      expect(listenersOn(signal)).toBe(0);
      expect(await prefetcher.next()).toEqual(done);
      expect(source.signals).toHaveLength(way === 'break' ? 4 : 3);
    },
  );

  it('can be done twice, at the same time too', async () => {
    const source = new Unhurried();
    const prefetcher = new Prefetcher(source, sequence, { producers: 2 });
    await settled();
    const both = [outcomeOf(prefetcher.return()), outcomeOf(prefetcher.return())];
    await source.release(1);
    expect(both).toEqual([{}, {}]);
    await source.release(1);
    expect(both).toEqual([{ value: done }, { value: done }]);
    expect(await prefetcher.return()).toEqual(done);
  });

  it('ends the waits of consumers', async () => {
    const driver = new HoldingDriver(await objects(SIZES));
    const prefetcher = new Prefetcher(await over(driver), sequence, { producers: 1 });
    const calls = Array.from({ length: 3 }, () => outcomeOf(prefetcher.next()));
    await settled();
    await prefetcher.return();
    await settled();
    expect(calls[0], 'its read was stopped').toMatchObject({ error: { name: 'AbortError' } });
    expect(calls.slice(1)).toEqual([{ value: done }, { value: done }]);
    expectIdle(prefetcher);
    await driver.release();
  });
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
