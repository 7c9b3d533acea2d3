import { Hierarchy, MemoryDriver } from '@tiered/core';
import type { InterposerStats } from '@tiered/interpose';
import { expect, it } from 'vitest';
import { summaryOf } from '../../src/cli/summary.js';

/** What programs did with a source of so many objects: nothing, but for what is said. */
function statsOf(objects: number, said: Partial<InterposerStats> = {}): InterposerStats {
  const hierarchy = new Hierarchy({ source: new MemoryDriver({ name: 'bucket' }) }).stats();
  return {
    ...{ opens: 0, redirected: 0, sourceBytes: 0, copyBytes: 0, epochs: [], most: 0 },
    ...{
      unchecked: 0,
      written: 0,
      uncounted: 0,
      programs: { began: true, elsewhere: false, ended: false },
      ahead: undefined,
      farm: undefined,
      unrecorded: 0,
    },
    failed: { count: 0, lastError: undefined },
    hierarchy: { ...hierarchy, namespace: { objects, bytes: objects } },
    ...said,
  };
}

const directory = { root: '/data', isImaginary: false };
const bucket = { root: '/tiered/data', isImaginary: true };

it('says what a bound is one of', () => {
  const first = { opens: 10, sourceBytes: 10_240 };
  expect(summaryOf(statsOf(10, first), directory)).toContain(
    '(0 %); the first time, each comes from the source.\n',
  );
  const later = { ...first, opens: 40, redirected: 10, most: 30 };
  expect(summaryOf(statsOf(10, later), directory)).toContain(
    '; with this room, and each file placed when it was first opened, at most 75 %.\n',
  );
});

it('tells what the source of a root that is not there gave, which is less than programs read', () => {
  const epoch = { opens: 20, redirected: 0, sourceBytes: 20_480, copyBytes: 0, ms: 1000 };
  const stats = statsOf(10, { opens: 40, sourceBytes: 40_960, epochs: [epoch, epoch] });
  const hierarchy = { ...stats.hierarchy, source: { driver: 'bucket', reads: 10, readBytes: 10_240 } };
  const text = summaryOf({ ...stats, hierarchy }, bucket);
  expect(text).toContain('each: 0 % on tiers, 20 KiB from the source or the spool, 1 s\n');
  expect(text).toMatch(/^The source gave 10 KiB in 10 requests\. Tiers hold 0 B now\.$/m);
  expect(text).not.toContain('Programs read');
});

it('advises only what can help where nothing was opened', () => {
  expect(summaryOf(statsOf(3), directory)).toMatch(/^None of the 3 files below \/data .*--alias/s);
  expect(summaryOf(statsOf(3), bucket)).not.toContain('--alias');
  expect(summaryOf(statsOf(1), directory)).toMatch(/^The only file of the source, below \/data, was not /);
});
