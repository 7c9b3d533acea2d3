import { ManualClock } from '@tiered/core/testing';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { ProgressBar } from '../src/progress.js';
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

  it('is drawn on a terminal after two seconds, and nowhere else', async () => {
    expect(await drawn(true, 2_000)).toContain('50 %');
    expect(await drawn(true, 1_999)).toBe('');
    expect(await drawn(false, 10_000)).toBe('');
  });

  it('leaves the wrapping of lines as it is, so that Ctrl-C leaves a terminal that works', async () => {
    expect(await drawn(true, 2_000)).not.toContain('\u001B[?7l');
  });
});
