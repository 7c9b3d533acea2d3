import { Hierarchy, MemoryDriver } from '@tiered/core';
import { ThrottleDriver } from '@tiered/core/decorators';
import { ManualClock } from '@tiered/core/testing';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { ListingProgress, ProgressBar } from '../src/progress.js';
import { textOf } from './cli/text-of.js';

describe('the progress bar', () => {
  const drawn = async (isTTY: boolean, ms: number): Promise<string> => {
    const terminal = Object.assign(new PassThrough(), { isTTY });
    const clock = new ManualClock();
    const bar = new ProgressBar(terminal, clock, 'simulating');
    await clock.advance(ms);
    bar.update(1, 2);
    bar.stop();
    return textOf(terminal);
  };

  it('is drawn on a terminal after two seconds, and is a line elsewhere after ten', async () => {
    expect(await drawn(true, 2_000)).toContain('50 %');
    expect(await drawn(true, 1_999)).toBe('');
    expect(await drawn(false, 9_999)).toBe('');
    expect(await drawn(false, 10_000)).toBe('simulating: 1 of 2 (50 %)\n');
  });

  it('is a line every ten seconds in a log, however often there is something to tell', async () => {
    const log = new PassThrough();
    const clock = new ManualClock();
    const bar = new ProgressBar(log, clock, 'placing');
    for (let second = 1; second <= 35; second++) {
      await clock.advance(1_000);
      for (let i = 0; i < 100; i++) bar.update(100 * second + i, 4_000);
    }
    bar.stop();
    expect(textOf(log).split('\n')).toEqual([
      'placing: 1,000 of 4,000 (25 %)',
      'placing: 2,000 of 4,000 (50 %)',
      'placing: 3,000 of 4,000 (75 %)',
      '',
    ]);
  });

  it('counts a listing in a log likewise', async () => {
    const [log, clock] = [new PassThrough(), new ManualClock()];
    const source = new MemoryDriver();
    for (const key of ['a', 'b']) await source.write(key, new Uint8Array(1024), { size: 1024 });
    const listed = new ThrottleDriver(source, { latencyMs: 11_000, clock });
    await using hierarchy = new Hierarchy({ source: listed, clock });
    const listing = new ListingProgress(hierarchy, log, clock);
    await clock.run(hierarchy.open());
    listing.stop();
    expect(textOf(log)).toBe('listing the source: 2 objects, 2 KiB so far\n');
  });

  it('leaves the wrapping of lines as it is, so that Ctrl-C leaves a terminal that works', async () => {
    expect(await drawn(true, 2_000)).not.toContain('\u001B[?7l');
  });
});
