import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { SlowMount } from '../tools/fuse/slow-mount.js';
import { atScale } from './control/at-scale.js';
import {
  ALONE,
  CASES,
  CASES_OF_NODES,
  CONTROL,
  ENDING,
  GUEST,
  OBJECT_BYTES,
  OBJECTS,
  SOURCE,
  WITHOUT,
  type Case,
} from './control/cases.js';
import { pacingRows, recordsRow } from './control/costs.js';
import { endingRow, steadyChecks, steadyRow, visitFigures, type Alone } from './control/figures.js';
import { Jobs } from './control/job.js';
import { ending, steady, visit, type Machine } from './control/measuring.js';
import { hasNodes, withNodes } from './control/nodes.js';
import type { Bench, BenchOptions, Check, Row } from './lib/bench.js';
import { withScratch } from './lib/scratch.js';
import { hasSlowMounts } from './lib/slow-mounts.js';
import { makeFiles } from './prefetch/work.js';

const STAGES = [8, 100, 1000, 10_000];

const bench: Bench = {
  summary:
    'jobs that share a source of 150 MB/s and 1 ms (FUSE), of one node and of four, with control and without. Lists have a number a job',
  run: async (options) => {
    const found: Found = { rows: [], checks: [] };
    if (await hasSlowMounts('the jobs that share a source')) await onMachine(options, found);
    options.progress('pacing');
    found.rows.push(...(await pacingRows(options.quick ? 1 : 5)));
    for (const stages of options.quick ? STAGES.slice(0, 2) : STAGES) {
      options.progress(`${stages} stages`);
      found.rows.push(await atScale(stages));
    }
    return found;
  },
};

export default bench;

interface Found {
  readonly rows: Row[];
  readonly checks: Check[];
}

/** All that is measured on processes. */
function onMachine({ quick, progress }: BenchOptions, { rows, checks }: Found): Promise<void> {
  return withScratch(async (scratch) => {
    progress('making the data, and starting the jobs');
    await mkdir(path.join(scratch, 'registry'), { mode: 0o700 });
    const files = await makeFiles(path.join(scratch, 'files'), '100 KB', OBJECTS, OBJECT_BYTES);
    await using mount = await SlowMount.start(files.directory, SOURCE);
    await using jobs = await Jobs.start(Array.from({ length: quick ? 4 : 8 }, () => []));
    const registry = (run: number) => ({ path: path.join(scratch, 'registry', `run-${run}.db`) });
    const machine = { registry, mount: mount.directory, jobs: jobs.list };
    progress('one job');
    const [before, seconds] = quick ? [1, 1] : [4, 4];
    const alone = await measureAlone(machine, quick ? 1 : 2);
    const measure = async (on: Machine, cases: readonly Case[]) => {
      for (const one of quick ? cases.slice(0, 1) : cases)
        for (const sharing of [WITHOUT, CONTROL]) {
          progress(`${one.name}, ${sharing ? 'with' : 'without'} control`);
          // Nothing has to settle without control.
          const times = sharing === undefined ? { before: 1, seconds: seconds / 2 } : { before, seconds };
          const seen = await steady(on, one, sharing, times);
          rows.push(steadyRow({ one, sharing, seen, alone }));
          checks.push(...steadyChecks({ one, sharing, seen, alone }));
        }
    };
    await measure(machine, CASES);
    if (hasNodes()) await withNodes(mount.directory, (nodes) => measure(nodes, CASES_OF_NODES));
    progress(GUEST.name);
    const change = await visit(machine, GUEST, CONTROL, { before, seconds: quick ? 2 : 4 });
    const figures = visitFigures(GUEST, change, alone);
    rows.push(...figures.rows);
    checks.push(...figures.checks);
    for (const sharing of [WITHOUT, CONTROL]) {
      progress(ENDING.name);
      rows.push(endingRow(ENDING, sharing, await ending(machine, ENDING, sharing)));
    }
    progress('8 stages that read nothing');
    rows.push(await recordsRow(machine, quick ? 2 : 8, quick ? 1 : 4));
  });
}

/** What a job reads that has the source for itself. */
async function measureAlone(machine: Machine, seconds: number): Promise<Alone> {
  const rateOf = async (one: Case) => {
    const { rates } = await steady(machine, one, WITHOUT, { before: 1, seconds });
    return rates[0] ?? NaN;
  };
  const one = await rateOf({ name: 'one request at a time', jobs: [{ producers: 1 }] });
  return { most: await rateOf(ALONE), by: new Map([[1, one]]) };
}
