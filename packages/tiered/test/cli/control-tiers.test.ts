import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ControlView } from '../../src/control-room/view.js';
import { putStages } from './control-records.js';
import { tiered } from './run-tiered.js';

const PLACE = 'file:///nvme/cache/';
const GIB = 2 ** 30;
let directory: string;
let file: string;
beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-control-tiers-'));
  file = path.join(directory, 'control.db');
  const report = (held: number, wanted?: number) => ({
    [PLACE]: { quota: 30 * GIB, held: held * GIB, free: 0, wanted: wanted && wanted * GIB },
  });
  await putStages(file, [
    { job: 'llm', places: report(28) },
    { job: 'imagenet', terms: { weight: 2 }, places: report(2) },
    { job: 'small', places: report(0, 3), node: 'node-2' },
    { job: 'tiny', places: report(3, 3), node: 'node-2' },
  ]);
});
afterEach(() => rm(directory, { recursive: true }));

const run = (...args: string[]) => tiered('control', ...args, '--registry', file);

it('says what jobs hold of a tier that they share, and may hold', async () => {
  const { out } = await run('show');
  expect(out).toContain(
    `\ntier ${PLACE} on node-1, 30 GiB: imagenet holds 2 GiB of 20 GiB, llm holds 28 GiB of 10 GiB\n`,
  );
  const { tiers } = JSON.parse((await run('show', '--json')).out) as ControlView;
  expect(tiers.map(({ node }) => node)).toEqual(['node-1', 'node-2']);
  expect(tiers[0]).toEqual({
    node: 'node-1',
    place: PLACE,
    quotaBytes: 30 * GIB,
    jobs: [
      { job: 'imagenet', weight: 2, wanted: null, held: 2 * GIB, share: 20 * GIB },
      { job: 'llm', weight: 1, wanted: null, held: 28 * GIB, share: 10 * GIB },
    ],
  });
});

it('says why', async () => {
  expect((await run('why', 'llm')).out).toContain(
    `\nllm holds 28 GiB of the tier ${PLACE} on node-1, and may hold 10 GiB: 2 jobs share 30 GiB by weight, and 1 of 3 is its. It gives back what others lack.\n`,
  );
  expect((await run('why', 'tiny')).out).toContain('may hold 3 GiB, which is all that it could use.\n');
});
