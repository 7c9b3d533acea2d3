import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ByteSize, Clock } from '@tiered/core';
import { ThrottleDriver } from '@tiered/core/decorators';
import { ManualClock, settled } from '@tiered/core/testing';
import { memoryWith, onlyOnce, outcomeOf, pattern, readFrom } from '../helpers.js';

const REASON = new Error('the caller lost interest');

/** A throttled link, on a clock of its own, to `a` (100 bytes) and `big` (1,000 bytes). */
async function throttled(bytesPerSecond: ByteSize) {
  const clock = new ManualClock();
  const inner = await memoryWith({ a: pattern(100), big: pattern(1000) });
  return { clock, driver: new ThrottleDriver(inner, { bytesPerSecond, clock }) };
}

/** A clock whose timers all fire late, as those of a busy event loop do. */
class LateClock implements Clock {
  readonly manual: ManualClock;
  readonly lateMs: number;

  constructor(manual: ManualClock, lateMs: number) {
    this.manual = manual;
    this.lateMs = lateMs;
  }

  now = () => this.manual.now();
  turn = () => this.manual.turn();
  sleep = (ms: number, signal?: AbortSignal) => this.manual.sleep(ms + this.lateMs, signal);
}

describe('the bandwidth of ThrottleDriver', () => {
  it('is shared: k reads of b bytes at once take k * b / rate', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 12 }),
        fc.nat({ max: 1000 }),
        fc.integer({ min: 1, max: 1e6 }),
        async (k, b, rate) => {
          const { clock, driver } = await throttled(rate);
          await clock.run(Promise.all(Array.from({ length: k }, () => readFrom(driver, 'big', b))));
          expect(clock.now()).toBeCloseTo((k * b * 1000) / rate, 6);
          expect(clock.sleeping).toBe(0);
        },
      ),
      { numRuns: 50 },
    );
  });

  it('a write that is aborted while its bytes pass was made all the same, and says so', async () => {
    const { clock, driver } = await throttled(1000);
    const controller = new AbortController();
    const writing = driver.write('new', pattern(500), { size: 500, signal: controller.signal });
    await clock.advance(100);
    controller.abort(REASON);
    await writing;
    expect((await driver.stat('new', {})).size).toBe(500);
    expect(clock.sleeping).toBe(0);
  });

  it('parts of an object that is written pass as they are written, and publishing costs no bandwidth', async () => {
    const { clock, driver } = await throttled(1000);
    const writer = await driver.create('new', { size: 500 });
    await clock.run(
      Promise.all([
        writer.writeAt(pattern(300, 200), { offset: 200 }),
        writer.writeAt(pattern(200), { offset: 0 }),
      ]),
    );
    expect(clock.now()).toBe(500);
    await clock.run(writer.readInto(new Uint8Array(100), { offset: 450 }));
    expect(clock.now()).toBe(550);
    await writer.publish({});
    expect(clock.now()).toBe(550);
    expect((await driver.stat('new', {})).size).toBe(500);
  });

  it('an abort while the bytes of a part pass rejects at once, and the part can be written again', async () => {
    const { clock, driver } = await throttled(1000);
    const writer = await driver.create('new', { size: 100 });
    const controller = new AbortController();
    const outcome = outcomeOf(writer.writeAt(pattern(100), { offset: 0, signal: controller.signal }));
    await clock.advance(50);
    controller.abort(REASON);
    await settled();
    expect(outcome).toEqual({ error: REASON });
    await clock.run(writer.writeAt(pattern(100), { offset: 0 }));
    await writer.publish({});
    expect((await driver.stat('new', {})).size).toBe(100);
    expect(clock.sleeping).toBe(0);
  });

  it('bytes pass one operation after the other, in the order in which the operations came', async () => {
    const { clock, driver } = await throttled('1 kB');
    const times: [string, number][] = [];
    const note = (name: string) => () => times.push([name, clock.now()]);
    await clock.run(
      Promise.all([
        readFrom(driver, 'a', 10).then(note('read')),
        driver.readInto('a', new Uint8Array(20), { offset: 90 }).then(note('readInto of 10 left')),
        driver.write('b', pattern(30), { size: 30 }).then(note('write')),
        driver.write('c', onlyOnce(pattern(2), pattern(3)), { size: 5 }).then(note('write in pieces')),
        driver.stat('a', {}).then(note('stat')),
      ]),
    );
    expect(times).toEqual([
      ['stat', 0],
      ['read', 10],
      ['readInto of 10 left', 20],
      ['write', 50],
      ['write in pieces', 55],
    ]);
  });

  it('is not saved up while nothing is read', async () => {
    const { clock, driver } = await throttled(1000);
    await clock.advance(10_000);
    await clock.run(readFrom(driver, 'a', 100));
    expect(clock.now()).toBe(10_100);
  });

  it('timers that fire late cost no throughput as long as another operation is under way', async () => {
    const manual = new ManualClock();
    const inner = await memoryWith({ a: pattern(100) });
    const driver = new ThrottleDriver(inner, { bytesPerSecond: 1000, clock: new LateClock(manual, 30) });
    const reader = async () => {
      for (let i = 0; i < 10; i++) await readFrom(driver, 'a', 100);
    };
    await manual.run(Promise.all([reader(), reader()]));
    // 20 reads of 100 ms; only the last timer's lateness shows.
    expect(manual.now()).toBe(2030);
  });

  it('an abort during the transfer rejects at once and leaves no timer behind', async () => {
    const { clock, driver } = await throttled(1000);
    const controller = new AbortController();
    const outcome = outcomeOf(readFrom(driver, 'a', 100, { signal: controller.signal }));
    await clock.advance(50);
    controller.abort(REASON);
    await settled();
    expect(outcome).toEqual({ error: REASON });
    expect(clock.sleeping).toBe(0);
  });

  it('an operation that is aborted leaves the rest of its time to the others, those that wait already too', async () => {
    const { clock, driver } = await throttled(1000);
    const controller = new AbortController();
    const { signal } = controller;
    const aborted = [
      outcomeOf(readFrom(driver, 'big', 1000, { signal })),
      outcomeOf(
        driver.readInto('big', new Uint8Array(900), { offset: 0, signal, progress: () => undefined }),
      ),
    ];
    const waiting = outcomeOf(readFrom(driver, 'a', 10));
    await clock.advance(50);
    controller.abort(REASON);
    await settled();
    expect(aborted).toEqual([{ error: REASON }, { error: REASON }]);
    const later = outcomeOf(readFrom(driver, 'a', 20));
    await clock.advance(10);
    expect([waiting, later]).toEqual([{ value: pattern(10) }, {}]);
    await clock.advance(20);
    expect(later).toEqual({ value: pattern(20) });
    expect(clock.sleeping).toBe(0);
  });

  it('carries what was not aborted as fast as if the rest had never come', async () => {
    const read = fc.record({ bytes: fc.nat({ max: 1000 }), isAborted: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(read, { maxLength: 12 }), async (reads) => {
        const { clock, driver } = await throttled(1000);
        const controller = new AbortController();
        const { signal } = controller;
        const kept: Promise<unknown>[] = [];
        for (const { bytes, isAborted } of reads) {
          const reading = readFrom(driver, 'big', bytes, isAborted ? { signal } : {});
          if (isAborted) reading.catch(() => undefined);
          else kept.push(reading);
        }
        await settled();
        controller.abort(REASON);
        await clock.run(Promise.all(kept));
        const bytes = reads.reduce((sum, one) => sum + (one.isAborted ? 0 : one.bytes), 0);
        expect(clock.now()).toBeCloseTo(bytes, 6);
        expect(clock.sleeping).toBe(0);
      }),
      { numRuns: 100 },
    );
  });
});
