import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { median } from '../lib/alternate.js';
import type { BenchOptions, Row } from '../lib/bench.js';
import { runInChild } from '../lib/child.js';
import { withScratch } from '../lib/scratch.js';
import type { TierAnswer, TierTask } from './tier-process.js';

/** Objects of ImageNet-1k. */
const FULL = 1_280_000;
const QUICK = 20_000;

/** Starts on the same tier and manifest, one after the other. */
interface Round {
  readonly withoutTier: TierAnswer;
  readonly afterClose: TierAnswer;
  readonly afterKill: TierAnswer;
}

/**
 * What a tier costs that holds every object of the source, beyond the namespace: memory, disk for its index,
 * and time to start. Each start is in a new process.
 */
export function measureTier({ quick, progress }: BenchOptions): Promise<Row[]> {
  const objects = quick ? QUICK : FULL;
  return withScratch(async (scratch) => {
    const tier = path.join(scratch, 'tier');
    const manifest = path.join(scratch, 'manifest');
    const run = (task: Partial<TierTask>) => {
      const whole = { objects, manifest, close: true, ...task };
      return runInChild<TierAnswer>(new URL('tier-process.ts', import.meta.url), whole, { progress });
    };
    const filling = await run({ tier, fill: true });
    const indexBytes = bytesBelow(path.join(tier, '.tiered'));
    const rounds: Round[] = [];
    for (let round = 1; round <= (quick ? 1 : 3); round++) {
      progress(`starting on a tier of ${objects} objects: round ${round}`);
      rounds.push({
        withoutTier: await run({}),
        afterClose: await run({ tier, close: false }),
        afterKill: await run({ tier }),
      });
    }
    progress('removing the tier');
    return rowsOf(objects, filling, indexBytes, rounds);
  });
}

function rowsOf(objects: number, filling: TierAnswer, indexBytes: number, rounds: readonly Round[]): Row[] {
  const name = `tier of ${objects.toLocaleString('en')} objects`;
  const over = (of: (round: Round) => number) => median(rounds.map(of));
  const beyond = (kind: 'js' | 'resident') =>
    over(({ withoutTier, afterClose }) => afterClose.afterStart[kind] - withoutTier.afterStart[kind]) /
    objects;
  const grown = (kind: 'js' | 'resident') => (filling.afterFill[kind] - filling.afterStart[kind]) / objects;
  const manifest = over(({ withoutTier }) => withoutTier.startSeconds);
  return [
    { what: `${name}, placed`, value: objects / filling.fillSeconds, unit: 'objects/s' },
    { what: `${name}, heap and array buffers by placing`, value: grown('js'), unit: 'bytes an object' },
    { what: `${name}, RSS by placing`, value: grown('resident'), unit: 'bytes an object' },
    { what: `${name}, heap and array buffers by a start`, value: beyond('js'), unit: 'bytes an object' },
    { what: `${name}, RSS by a start`, value: beyond('resident'), unit: 'bytes an object' },
    { what: `${name}, index on disk`, value: indexBytes / objects, unit: 'bytes an object' },
    { what: `${name}, start without the tier, from the manifest`, value: manifest, unit: 's' },
    {
      what: `${name}, start beyond that, after a clean end`,
      value: over(({ withoutTier, afterClose }) => afterClose.startSeconds - withoutTier.startSeconds),
      unit: 's',
    },
    {
      what: `${name}, start beyond that, after kill -9`,
      value: over(({ withoutTier, afterKill }) => afterKill.startSeconds - withoutTier.startSeconds),
      unit: 's',
    },
  ];
}

/** Sizes of all files, and not the blocks that they take. */
function bytesBelow(directory: string): number {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(path.join(parentPath, name)).size, 0);
}
