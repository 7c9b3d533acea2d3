import { link, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { SlowMount } from '../tools/fuse/slow-mount.js';
import { BATCH, contestants, TF, TF_ANTIALIAS, type Contestant, type Place } from './images/contestants.js';
import { writePhotographs } from './images/photographs.js';
import { alternate, medianMs, ratio, type Timings } from './lib/alternate.js';
import { atLeast, type Bench, type BenchOptions, type Check, type Row } from './lib/bench.js';
import type { RoundProcess } from './lib/round-process.js';
import { withScratch } from './lib/scratch.js';
import { hasSlowMounts } from './lib/slow-mounts.js';

/** A slow source: milliseconds of each call, and bytes that all of them share. */
const SLOW = { openMs: 5, readMs: 5, bytesPerSecond: 150e6 };

const bench: Bench = {
  summary:
    'photographs decoded, cropped at random, resized, mirrored and stacked, on one core: tiered, PyTorch and tf.data',
  run: (options) =>
    withScratch(async (scratch) => {
      const { quick, progress } = options;
      progress('making photographs');
      const round = quick ? 2 * BATCH : ROUND;
      const place = await makePlaces(scratch, round, (COLD_ROUNDS + 2) * round);
      if (!(await hasSlowMounts('the slow source'))) return measure(place.warm, scratch, options);
      await using mount = await SlowMount.start(place.all, SLOW);
      const at = (name: string) => path.join(mount.directory, name);
      const warm = { ...place.warm, behindTier: at('warm') };
      const cold = { ...place.warm, name: 'cold', source: at('cold') } as const;
      const parts = [await measure(warm, scratch, options), await measure(cold, scratch, options)];
      return { rows: parts.flatMap(({ rows }) => rows), checks: parts.flatMap(({ checks }) => checks) };
    }),
};

/** Photographs of a round. */
const ROUND = 12 * BATCH;
const WARM_ROUNDS = 3;
/** All of them, and the one that does not count, are pieces of one epoch. */
const COLD_ROUNDS = 2;

/** As many photographs as rounds need in which each is read for the first time, and a directory for one. */
async function makePlaces(scratch: string, round: number, count: number) {
  const all = path.join(scratch, 'source');
  const keys = Array.from({ length: count }, (_, i) => `photographs/${i}.jpg`);
  for (const name of ['cold', 'warm']) await mkdir(path.join(all, name, 'photographs'), { recursive: true });
  await writePhotographs(path.join(all, 'cold'), keys);
  const ofRound = keys.slice(0, round);
  for (const key of ofRound) await link(path.join(all, 'cold', key), path.join(all, 'warm', key));
  const warm: Place = { name: 'warm', source: path.join(all, 'warm'), keys: ofRound };
  return { all, warm };
}

export default bench;

async function measure(
  place: Place,
  scratch: string,
  { quick, progress }: BenchOptions,
): Promise<{ rows: Row[]; checks: Check[] }> {
  const all = contestants(place, scratch);
  const running: RoundProcess[] = [];
  const setups: Record<string, () => Promise<void>> = {};
  try {
    for (const { name, install, start } of all) {
      if (install !== undefined) continue;
      progress(`${place.name}: starting ${name}`);
      const process = await start();
      running.push(process);
      setups[name] = () => process.roundAlone();
    }
    const rounds = place.name === 'cold' ? COLD_ROUNDS : quick ? 1 : WARM_ROUNDS;
    const timings = await alternate(setups, rounds, (round) => progress(`${place.name}: round ${round}`));
    const rows = all.map((one) => rowOf(place, one, timings));
    return { rows, checks: checksOf(place, all, timings) };
  } finally {
    for (const process of running) await process.close();
  }
}

function rowOf({ name: place, keys }: Place, { name, install }: Contestant, timings: Timings): Row {
  const is = timings.has(name);
  return {
    source: place,
    loader: name,
    'images/s on a core': is ? Math.round((1000 * keys.length) / medianMs(timings, name)) : [],
    note: install === undefined ? '' : `not installed: ${install}`,
  };
}

/** Our fastest against the fastest of each of the others: everybody may choose the number of workers. */
function checksOf({ name: place }: Place, all: readonly Contestant[], timings: Timings): Check[] {
  const fastest = (family: string) =>
    all
      .filter((one) => one.family === family && timings.has(one.name))
      .map(({ name }) => name)
      .sort((a, b) => medianMs(timings, a) - medianMs(timings, b))[0];
  const ours = fastest('tiered') ?? '';
  return ['Pillow', 'torchvision', TF, TF_ANTIALIAS].flatMap((family) => {
    const rival = fastest(family);
    if (rival === undefined) return [];
    return [atLeast(`${place}: ${ours} against ${rival}`, ratio(timings, ours, rival), 1, 'x')];
  });
}
