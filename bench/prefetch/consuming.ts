import { listSequence, Prefetcher } from '@tiered/prefetch';
import { alternate, medianMs } from '../lib/alternate.js';
import { atLeast, atMost, type BenchOptions, type Check, type Row } from '../lib/bench.js';
import type { Comparison } from './compare.js';
import { consumers, prefetched } from './loops.js';
import { computing, openWork, secondsOf, type Dataset } from './work.js';
import { nearby, type Source } from './sources.js';

const CONSUMERS = [1, 2, 4, 8, 16, 32, 64];
const BATCH = 32;
/** A consumer that computes so many times as long as its reads take need not wait. */
const COMPUTE = 1.2;

/** How much consumers wait that compute for longer than their reads take at the bound of the source. */
export async function stalls(
  { source, dataset, count }: Comparison,
  { progress }: BenchOptions,
): Promise<{ rows: Row[]; checks: Check[] }> {
  const name = `${source.name}, ${dataset.name}, computing ${COMPUTE} x the reading`;
  progress(name);
  const work = await openWork(dataset, source, count);
  const boundMs = (source.bound?.(count, count * dataset.size, 64) ?? 0) * 1000;
  const batchMs = (boundMs / count) * COMPUTE * BATCH;
  let stallMs = 0;
  const seconds = await secondsOf(async () => {
    await using prefetcher = new Prefetcher(work.hierarchy, listSequence(work.keys));
    const compute = computing();
    for await (const batch of prefetcher.batches(BATCH)) await compute((batchMs * batch.length) / BATCH);
    ({ stallMs } = prefetcher.stats());
  });
  await work.hierarchy.close();
  const share = stallMs / 1000 / seconds;
  return {
    rows: [{ what: name, setting: '', seconds, 'objects/s': Math.round(count / seconds), stalled: share }],
    checks: [atMost(`${name}: stall time`, share * 100, 5, '%')],
  };
}

/** Whether more consumers on one prefetcher make it slower. */
export async function manyConsumers(
  { source, dataset, count }: Comparison,
  { quick, progress }: BenchOptions,
): Promise<{ rows: Row[]; checks: Check[] }> {
  const name = `consumers, ${source.name}, ${dataset.name}`;
  const work = await openWork(dataset, source, count);
  const counts = quick ? [1, 64] : CONSUMERS;
  const setups = Object.fromEntries(counts.map((n) => [`${n}`, () => consumers(n)(work)]));
  const timings = await alternate(setups, quick ? 1 : 5, () => progress(name));
  await work.hierarchy.close();
  const perSecond = (n: number) => (count / medianMs(timings, `${n}`)) * 1000;
  const most = Math.max(...counts.map(perSecond));
  return {
    rows: counts.map((n) => ({
      what: name,
      setting: `${n}`,
      seconds: medianMs(timings, `${n}`) / 1000,
      'objects/s': Math.round(perSecond(n)),
      stalled: [],
    })),
    checks: [atLeast(`${name}: 64 against the most`, perSecond(64) / most, 0.95, 'x')],
  };
}

/**
 * Three epochs from a source of 1 ms and 150 MB/s, the first included: PRISMA's original takes 25.8 s, the
 * bound is 12.1 s.
 */
export async function threeEpochs(
  dataset: Dataset,
  { quick, progress }: BenchOptions,
): Promise<{ rows: Row[]; checks: Check[] }> {
  const source: Source = nearby;
  const epochs = quick ? 1 : 3;
  const name = `${epochs} epochs, ${source.name}, ${dataset.name}`;
  progress(name);
  const work = await openWork(dataset, source);
  const seconds = await secondsOf(() => prefetched({ epochs })(work));
  await work.hierarchy.close();
  const objects = epochs * dataset.count;
  const bound = source.bound?.(objects, objects * dataset.size, 64) ?? 0;
  return {
    rows: [{ what: name, setting: '', seconds, 'objects/s': Math.round(objects / seconds), stalled: [] }],
    checks: [atMost(`${name}: against the bound of ${bound.toFixed(1)} s`, seconds / bound, 1.1, 'x')],
  };
}
