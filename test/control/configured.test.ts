import { look, type Control } from '@tiered/control';
import { isTieredError } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import { SqliteRegistry } from '@tiered/cluster/registry';
import { rawRecords } from '@tiered/formats/raw';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { openDataset, type Dataset, type DatasetOptions } from 'tiered';
import { describe, expect, it, onTestFinished } from 'vitest';

const OBJECTS = 20;
const BYTES = 5000;
const BUDGET = { bytesPerSecond: '600MB' };

/** Directories of objects on one mount, and a place for the registry. */
async function place(...names: readonly string[]) {
  const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-control-'));
  onTestFinished(() => fs.rm(directory, { recursive: true }));
  const sources = names.map((name) => path.join(directory, name));
  for (const source of sources) {
    await fs.mkdir(source);
    for (let i = 0; i < OBJECTS; i++)
      await fs.writeFile(path.join(source, `o${100 + i}`), someBytes(BYTES, i));
  }
  return { sources, registry: { sqlite: path.join(directory, 'registry', 'jobs.db') } };
}

/** A dataset of a job, which ends with the test. */
async function opened(options: Omit<DatasetOptions, 'progress'>): Promise<Dataset> {
  const dataset = await openDataset({ tiers: ['ram:8MiB'], ...options, progress: false });
  onTestFinished(() => dataset.close());
  return dataset;
}

function controlOf({ control }: Dataset): Control {
  if (control === undefined) throw new Error('The dataset is of no job.');
  return control;
}

/** Waits until what all stages said is so. */
async function until(control: Control, isSo: (view: ReturnType<Control['view']>) => boolean): Promise<void> {
  if (isSo(control.view())) return;
  await new Promise<void>((resolve) => {
    control.on('decided', (view) => {
      if (isSo(view)) resolve();
    });
  });
}

/** Within a twentieth. */
const isNear = (amount: number, expected: number) => Math.abs(amount - expected) < expected / 20;

describe('jobs that a configuration names', () => {
  it('[U9] share what is mounted by weight, also with other datasets on it', async () => {
    const { sources, registry } = await place('one', 'other');
    const of = (at: number, weight: number) =>
      opened({
        source: sources[at] ?? '',
        control: { job: `job-${weight}`, weight, registry, source: { budget: BUDGET } },
      });
    const [one, two] = (await Promise.all([of(0, 1), of(1, 2)])).map(controlOf);
    if (one === undefined || two === undefined) throw new Error('There are two.');
    const [name = '', ...others] = Object.keys(one.shares().sources);
    expect(others).toEqual([]);
    expect(Object.keys(two.shares().sources)).toEqual([name]);
    const share = (control: Control) => (control.shares().sources[name]?.bytes ?? 0) / 1e6;
    await until(two, () => isNear(share(one), 200) && isNear(share(two), 400));
  });

  it('[U8] have their share at once when another one leaves', async () => {
    const { sources, registry } = await place('data');
    const [source = ''] = sources;
    const of = (job: string) => opened({ source, control: { job, registry, source: { budget: BUDGET } } });
    const [one, other] = [await of('a'), await of('b')];
    const control = controlOf(one);
    await until(control, ({ seen }) => seen.stages.length === 2);
    await other.close();
    await until(control, ({ seen }) => seen.stages.length === 1);
    const [share] = Object.values(control.shares().sources);
    expect(isNear((share?.bytes ?? 0) / 1e6, 600)).toBe(true);
    await one.close();
    const records = new SqliteRegistry({ path: registry.sqlite });
    await records.open();
    onTestFinished(() => records.close());
    expect((await look(records)).stages).toEqual([]);
  });

  it('[U9] tell others what their loaders hold, as long as these read', async () => {
    const { sources, registry } = await place('data');
    const dataset = await opened({ source: sources[0] ?? '', control: { job: 'a', registry } });
    const control = controlOf(dataset);
    const own = () => control.view().seen.stages.find(({ id }) => id === control.shares().id);
    expect(own()?.memory).toBeUndefined();
    // One that cannot be made is followed by nobody.
    const resume = { version: 2 } as never;
    expect(() => dataset.epochs({ producers: 7, resume })).toThrow('resume');
    const loader = await dataset.loader({
      format: rawRecords({ recordBytes: BYTES }),
      batchSize: 4,
      prefetch: { memory: '4MiB', producers: 3 },
    });
    const epochs = dataset.epochs({ memory: '2MiB', producers: 2 });
    await until(control, () => own()?.producers?.most === 5);
    expect(own()?.memory?.most).toBe(6 * 2 ** 20);
    let samples = 0;
    for await (const batch of loader) samples += batch.data.length;
    expect(samples).toBe(OBJECTS);
    await until(control, () => own()?.producers?.most === 2);
    await epochs.close();
    await until(control, () => own()?.producers === undefined);
    expect(own()?.tiers['memory']).toMatchObject({ used: OBJECTS * BYTES });
  });

  it('[U11] tell each other in which order their loaders read, where disks follow plans', async () => {
    const { sources, registry } = await place('data');
    const [source = ''] = sources;
    const tiers = [`${source}-tier:8MiB`];
    const of = async (job: string, seed: number) => {
      const placement = { policy: 'planFollower' } as const;
      const dataset = await opened({ source, tiers, placement, control: { job, registry } });
      const format = rawRecords({ recordBytes: BYTES });
      const options = { format, batchSize: 4, epochs: 3, seed, rank: 0, ranks: 2, clairvoyant: true };
      return { dataset, loader: await dataset.loader(options) };
    };
    const [one, two] = [await of('a', 1), await of('b', 2)];
    const control = controlOf(one.dataset);
    const said = () => control.view().seen.stages.flatMap(({ sequences = [] }) => sequences);
    await until(control, () => said().length === 2);
    const dataset = said()[0]?.dataset ?? '';
    const sequences = control.sequencesOf(dataset).map(({ job, sequence }) => [job, sequence.seed]);
    expect(sequences.sort()).toEqual([
      ['a', 1],
      ['b', 2],
    ]);
    expect(said().every((one) => one.samples === OBJECTS && one.workers === 2)).toBe(true);
    await two.loader.close();
    await until(control, () => said().length === 1);
    await one.loader.close();
  });

  it('[U9] take what other workers of a cluster give from no share', async () => {
    const { sources, registry } = await place('data');
    const [source = ''] = sources;
    const of = (job: string, rank: number, share: boolean, operationsPerSecond: number) =>
      opened({
        source,
        cluster: { name: 'training', registry, rank, share, deadlineMs: 600_000 },
        control: { job, registry: { sqlite: `${registry.sqlite}.jobs` }, atMost: { operationsPerSecond } },
      });
    const keeper = await of('keeper', 1, true, 1e6);
    // Its share is one request to the source in a thousand seconds: the one that lists it.
    const reader = await of('reader', 0, false, 0.001);
    for await (const sample of reader.epochs()) sample.release();
    const read = [keeper, reader].map(({ hierarchy }) => hierarchy.stats().source.readBytes);
    expect(read).toEqual([OBJECTS * BYTES, 0]);
    expect(reader.hierarchy.stats().peers?.readBytes).toBe(OBJECTS * BYTES);
  });

  it('[U9] are refused where they cannot meet, and close what was opened', async () => {
    const { sources } = await place('data');
    const [source = ''] = sources;
    const unreachable = { nats: { servers: ['nats://127.0.0.1:1'] } };
    const error: unknown = await opened({ source, control: { job: 'a', registry: unreachable } }).catch(
      (reason: unknown) => reason,
    );
    expect(isTieredError(error, 'TIERED_UNAVAILABLE')).toBe(true);
  });
});
