import { loadChecksum } from '@tiered/core/internal';
import { systemClock } from '@tiered/core';
import type { Homes } from '@tiered/cluster';
import { RendezvousHomes } from '@tiered/cluster/internal';
import { rankSampler, type Sampler } from '@tiered/prefetch/sampling';
import { NO_HOME, roomOf, sharedPlan, SharedReads } from '@tiered/tiering/plans';
import { atMost, type Check, type Row } from '../lib/bench.js';

/** A training on ImageNet-1k, as figure 11 of the paper has it. */
const WORKERS = 1024;
const SAMPLES = 1_281_167;
const QUICK_SAMPLES = 100_000;
const EPOCHS = 10;
const BYTES = 107_700;
/** c of the paper: what a worker trains on in a second. */
const BYTES_PER_SECOND = 100e6;
/** A record lives for 10 seconds, and is renewed three times; each time its owner looks at all of them. */
const LOOKS_PER_SECOND = (3 * WORKERS) / 10;

/** What a way to find homes costs, and how evenly it spreads the requests. */
interface Scale {
  readonly way: string;
  readonly room: string;
  readonly homeOf: (sample: number) => number | undefined;
  readonly bytes: number;
  readonly peakBytes: number;
  readonly seconds: number;
}

/**
 * 1,024 workers without any of them: who asks whom in an epoch, by the homes that each worker computes
 * itself.
 */
export async function atScale(quick: boolean): Promise<{ rows: Row[]; checks: Check[] }> {
  const samples = quick ? QUICK_SAMPLES : SAMPLES;
  const sampler = rankSampler({ samples, epochs: EPOCHS, seed: 1, workers: WORKERS });
  const scales = [await byHash(samples), ...[1, 2].map((part) => byPlan(sampler, part))];
  const rows = scales.map((scale) => rowOf(scale, sampler));
  const last = scales.at(-1);
  const checks = [
    atMost(
      `plan of ${WORKERS} workers and ${samples.toLocaleString('en')} samples`,
      last?.seconds ?? NaN,
      60,
      's',
    ),
    atMost('bytes of the homes, a sample', (last?.bytes ?? NaN) / samples, 3, 'bytes'),
    ...rows.map((row, index) => {
      const { way, room } = scales[index] ?? { way: '', room: '' };
      const name = `${WORKERS} workers, ${way}, room ${room}: requests of the busiest peer`;
      return atMost(name, Number(row['most/mean']), 1.5, 'x the mean');
    }),
  ];
  return { rows, checks };
}

async function byHash(samples: number): Promise<Scale> {
  const checksum = await loadChecksum();
  const homes: Homes = new RendezvousHomes([...Array(WORKERS).keys()], (key) => checksum.text(key));
  const found = new Uint16Array(samples);
  const begun = systemClock.now();
  for (let sample = 0; sample < samples; sample++)
    found[sample] = homes.of(`train/${sample}.jpg`).at(-1) ?? 0;
  const seconds = (systemClock.now() - begun) / 1000;
  const homeOf = (sample: number) => found[sample];
  return { way: 'rendezvous', room: 'for all', homeOf, bytes: 4 * WORKERS, peakBytes: 4 * WORKERS, seconds };
}

/** @param part Each worker has room for so small a part of its share. */
function byPlan(sampler: Sampler, part: number): Scale {
  const { samples, workers, epochs } = sampler;
  const before = process.memoryUsage().arrayBuffers;
  const begun = systemClock.now();
  const reads = new SharedReads({ samples, workers, plansFor: [0] });
  for (let epoch = 0; epoch < epochs; epoch++)
    for (let worker = 0; worker < workers; worker++) reads.add(worker, sampler.epoch(worker, epoch));
  const sizes = new Uint8Array(samples).fill(1);
  const rooms = Array.from({ length: workers }, () => [roomOf(Math.ceil(samples / workers / part), sizes)]);
  const plan = sharedPlan({ reads, rooms, sizes });
  const { homes } = plan;
  const seconds = (systemClock.now() - begun) / 1000;
  return {
    way: 'by plan',
    room: part === 1 ? 'for all' : 'for a half',
    homeOf: (sample) => (homes[sample] === NO_HOME ? undefined : homes[sample]),
    bytes: homes.byteLength + (plan.planOf(0)?.byteLength ?? 0),
    peakBytes: process.memoryUsage().arrayBuffers - before,
    seconds,
  };
}

/** The requests of the last epoch, when everything is where it is to be. */
function rowOf({ way, room, homeOf, bytes, peakBytes, seconds }: Scale, sampler: Sampler): Row {
  const asked = new Float64Array(WORKERS);
  let [own, source] = [0, 0];
  for (let worker = 0; worker < WORKERS; worker++)
    for (const sample of sampler.epoch(worker, EPOCHS - 1)) {
      const home = homeOf(sample);
      if (home === undefined) source += 1;
      else if (home === worker) own += 1;
      else asked[home] = (asked[home] ?? 0) + 1;
    }
  const all = asked.reduce((sum, count) => sum + count, 0);
  const epochSeconds = (sampler.epochLength(0) * BYTES) / BYTES_PER_SECOND;
  return {
    '1,024 workers': way,
    room,
    'own %': (100 * own) / sampler.samples,
    'of peers %': (100 * all) / sampler.samples,
    'source %': (100 * source) / sampler.samples,
    'reads/s of a peer': all / WORKERS / epochSeconds,
    'most/mean': Math.max(...asked) / (all / WORKERS),
    'messages for placement': 0,
    'renewals/s': LOOKS_PER_SECOND,
    'MB kept': bytes / 1e6,
    'MB while it works': peakBytes / 1e6,
    seconds,
  };
}
