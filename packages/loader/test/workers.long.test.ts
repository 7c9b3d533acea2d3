import { isTieredError, systemClock, type Clock } from '@tiered/core';
import type { DataLoaderOptions } from '@tiered/loader';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { threadId } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';
import { grouped, RECORD } from './formats.js';
import { FROM_SOURCES } from './from-sources.js';
import { allNames, groups, hierarchyOf, loaderOf, nameOf, namesOf, singles } from './helpers.js';
import { openSamples } from '@tiered/formats';
import { rawRecords } from '@tiered/formats/raw';

const FUNCTIONS = new URL('./workers/functions.ts', import.meta.url);

type Options = DataLoaderOptions<Uint8Array, never, never>;

function by(
  workers: number,
  transform?: string,
  collate?: string,
): Pick<Options, 'workers' | 'transform' | 'collate'> {
  return {
    workers,
    workerExecArgv: FROM_SOURCES,
    ...(transform !== undefined && { transform: { module: FUNCTIONS, export: transform } }),
    ...(collate !== undefined && { collate: { module: FUNCTIONS, export: collate } }),
  } as Pick<Options, 'workers' | 'transform' | 'collate'>;
}

interface Drawn {
  readonly bytes: Uint8Array;
  readonly drawn: number;
  readonly sample: number;
  readonly threadId: number;
}

describe('batches of workers', () => {
  it('[D2] are the same, in the same order, for any number of workers', async () => {
    const samples = await singles([40, 60]);
    const made: unknown[] = [];
    for (const workers of [0, 1, 3]) {
      const loader = loaderOf<Drawn, readonly Drawn[]>(samples, {
        batchSize: 7,
        epochs: 2,
        seed: 5,
        ...by(workers, 'drawn'),
      } as DataLoaderOptions<Uint8Array, Drawn>);
      const all: Drawn[] = [];
      for await (const { data } of loader) all.push(...data);
      const threads = new Set(all.map((one) => one.threadId));
      expect(threads.has(threadId)).toBe(workers === 0);
      expect(threads.size).toBe(Math.max(1, workers));
      made.push(all.map(({ bytes, drawn, sample }) => [nameOf(bytes), drawn, sample]));
    }
    expect(made[1]).toEqual(made[0]);
    expect(made[2]).toEqual(made[0]);
  });

  it('are decoded once a record and worker, where records have several samples', async () => {
    const format = { ...grouped(10), madeBy: { module: FUNCTIONS, export: 'makeGrouped' } };
    const samples = await openSamples(await hierarchyOf([50, 50]), { format });
    const here = await namesOf(loaderOf(await groups([50, 50], 10), { batchSize: 9, epochs: 2 }));
    const there = loaderOf(samples, { batchSize: 9, epochs: 2, ...by(2) });
    expect(await namesOf(there as never)).toEqual(here);
  });

  it('hand memory over, and copy parts of it alone', async () => {
    const loader = loaderOf(await singles([4]), {
      batchSize: 4,
      shuffle: false,
      ...by(1, 'partOfMemory'),
    });
    for await (const { data } of loader) {
      for (const [i, { part, own, node }] of (
        data as { part: Uint8Array; own: Float32Array; node: Uint8Array }[]
      ).entries()) {
        expect([...part]).toEqual([0, 0, 0, 0, 0, 0, 0, i]);
        expect([part.buffer.byteLength, own.buffer.byteLength, node.buffer.byteLength]).toEqual([8, 32, 8]);
      }
    }
  });

  it('[D13] have what a transform or a collate keeps, in each batch', async () => {
    const samples = await singles([20]);
    const options = { batchSize: 2, shuffle: false };
    const constants: unknown[] = [];
    const counted: unknown[] = [];
    for await (const { data } of loaderOf(samples, { ...options, ...by(1, 'constant') }))
      constants.push(...(data as Float32Array[]).map((one) => [...one]));
    expect(constants).toEqual(Array.from({ length: 20 }, () => [1, 2, 3]));
    for await (const { data } of loaderOf(samples, { ...options, ...by(1, 'numbers', 'counts') }))
      counted.push((data as { counted: Int32Array }).counted[0]);
    expect(counted).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  it('[D13] have samples that are read again and again, of one record that was decoded once', async () => {
    const format = { ...grouped(4), madeBy: { module: FUNCTIONS, export: 'makeOwning' } };
    const few = await openSamples(await hierarchyOf([4]), { format });
    const parts = [{ samples: few, weight: 9 }, { samples: await singles([40]) }];
    const options = { batchSize: 3, epochSamples: 90, seed: 2 };
    const here = await namesOf(loaderOf(parts, options));
    expect(await namesOf(loaderOf(parts, { ...options, ...by(1) }) as never)).toEqual(here);
  });

  it('[D13] belong to whoever gets them, in whatever form their arrays are', async () => {
    const counts = [100];
    // Memory for a few samples, which is used again and again.
    const prefetch = { memory: 64 };
    const loader = loaderOf(await singles(counts), { batchSize: 2, prefetch, ...by(1, 'inOtherForms') });
    const all: { map: Map<string, Uint8Array>; view: DataView }[] = [];
    for await (const { data } of loader) all.push(...(data as typeof all));
    const inMaps = all.map(({ map }) => nameOf(map.get('bytes') ?? new Uint8Array(8)));
    const inViews = all.map(({ view }) => `${view.getUint32(0)}/${view.getUint32(4)}`);
    expect(inMaps.toSorted()).toEqual(allNames(counts).toSorted());
    expect(inViews).toEqual(inMaps);
  });

  it('are collated there', async () => {
    const loader = loaderOf(await singles([4]), {
      batchSize: 4,
      shuffle: false,
      ...by(2, 'numbers', 'stack'),
    });
    for await (const { data } of loader) {
      const { data: all, shape } = data as { data: Float32Array; shape: number[] };
      expect(shape).toEqual([4, RECORD]);
      expect(all[15]).toBe(1);
    }
  });

  it('can be made in this thread by the same modules', async () => {
    const options = { batchSize: 3, shuffle: false, transform: { module: FUNCTIONS } } as const;
    const made: unknown[] = [];
    for await (const { data } of loaderOf<number>(await singles([4]), options)) made.push(...data);
    expect(made).toEqual([0, 1, 2, 3]);
  });
});

describe('an error of a transform', () => {
  it.each([
    [0, 'failsAt7'],
    [0, 'failsAt7Later'],
    [2, 'failsAt7'],
    [2, 'failsAt7Later'],
  ])(
    '[D5] comes at the place of its batch and names the sample: %d workers, %s',
    async (workers, transform) => {
      const loader = loaderOf(await singles([20]), {
        batchSize: 3,
        shuffle: false,
        ...by(workers, transform),
      });
      const batches: number[] = [];
      const reading = (async () => {
        for await (const { index } of loader) batches.push(index);
      })();
      await expect(reading).rejects.toMatchObject({
        code: 'TIERED_TRANSFORM_FAILED',
        key: '0000',
        message: expect.stringContaining('sample 7, in 0000, of epoch 0: seven'),
        cause: expect.objectContaining({ name: 'RangeError', message: 'seven' }),
      });
      expect(batches).toEqual([0, 1]);
      expect(loader.stateDict()).toMatchObject({ epoch: 0, done: 6 });
      await expect(namesOf(loader as never)).rejects.toMatchObject({ code: 'TIERED_TRANSFORM_FAILED' });
    },
  );

  it('of collate names the epoch', async () => {
    const loader = loaderOf(await singles([4]), { batchSize: 2, ...by(1, 'numbers', 'refuses') });
    await expect(namesOf(loader as never)).rejects.toMatchObject({
      code: 'TIERED_TRANSFORM_FAILED',
      message: expect.stringContaining('a batch that is refused'),
    });
  });
});

describe('a worker that ends', () => {
  it.each(['exitsAt7', 'throwsOutsideAt7'])('[D5] is an error with its cause: %s', async (transform) => {
    const loader = loaderOf(await singles([20]), {
      batchSize: 3,
      shuffle: false,
      ...by(2, transform),
    });
    const error = await namesOf(loader as never).catch((caught: unknown) => caught);
    expect(isTieredError(error, 'TIERED_WORKER_FAILED')).toBe(true);
    expect((error as Error).message).toMatch(/exit code 3|outside of any call/);
  });

  it('[D5] is replaced as often as is allowed, and its batches are made again in their places', async () => {
    const samples = await singles([40]);
    const options = { batchSize: 3, shuffle: false, replaceWorkers: 1, ...by(2, 'endsSome') } as Options;
    for (const ends of [1, 2]) {
      const directory = await mkdtemp(path.join(os.tmpdir(), 'workers-'));
      onTestFinished(() => rm(directory, { recursive: true }));
      // Threads share nothing but files.
      process.env['TIERED_TEST_ENDS'] = JSON.stringify([directory, ends]);
      const reading = namesOf(loaderOf(samples, options) as never);
      if (ends === 1) expect((await reading).flat()).toEqual(allNames([40]));
      else await expect(reading).rejects.toMatchObject({ code: 'TIERED_WORKER_FAILED' });
    }
  });

  it('before it has loaded its modules says what to check', async () => {
    const samples = await singles([4]);
    for (const transform of [{ module: FUNCTIONS, export: 'nothing' }, { module: '/none/such.js' }]) {
      const options = { batchSize: 1, ...by(1), transform, replaceWorkers: 3 } as Options;
      await expect(namesOf(loaderOf(samples, options) as never)).rejects.toMatchObject({
        code: 'TIERED_WORKER_FAILED',
        message: expect.stringContaining('could not start'),
      });
    }
  });

  it('says how threads load what Node cannot read', async () => {
    const directory = await mkdtemp(path.join(os.tmpdir(), 'workers-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    const module = path.join(directory, 'decode.typed');
    await writeFile(module, 'export default () => 1;');
    const options = { batchSize: 1, ...by(1), transform: { module } } as Options;
    await expect(namesOf(loaderOf(await singles([4]), options) as never)).rejects.toThrow('workerExecArgv');
  });
});

it('[D5] close ends workers that never answer, and calls that wait for them', async () => {
  const loader = loaderOf(await singles([4]), { batchSize: 1, ...by(2, 'neverEnds') });
  const waiting = namesOf(loader as never);
  const outcome = expect(waiting).rejects.toMatchObject({ code: 'TIERED_CLOSED' });
  await loader.close();
  await outcome;
});

describe('close, while a worker is in the middle of a sample', () => {
  /** Starts a worker, whose clock may be given. Resolves once it works. */
  async function atWork(prefetch: Options['prefetch']) {
    const directory = await mkdtemp(path.join(os.tmpdir(), 'workers-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    process.env['TIERED_TEST_GO'] = directory;
    onTestFinished(() => {
      delete process.env['TIERED_TEST_GO'];
    });
    const loader = loaderOf(await singles([4]), { batchSize: 1, prefetch, ...by(1, 'worksUntilGo') });
    const outcome = expect(namesOf(loader as never)).rejects.toMatchObject({ code: 'TIERED_CLOSED' });
    while (!existsSync(path.join(directory, 'begun'))) await systemClock.turn();
    return { loader, outcome, directory };
  }

  it('[D5] has it finish the sample, since native addons abort the process otherwise', async () => {
    // Nothing is late, however busy the machine is.
    const sleep: Clock['sleep'] = (_ms, signal) => systemClock.sleep(2 ** 40, signal);
    const { loader, outcome, directory } = await atWork({ clock: { ...systemClock, sleep } });
    const closing = loader.close();
    await writeFile(path.join(directory, 'go'), '');
    await Promise.all([closing, outcome]);
    expect(await readdir(directory)).toContain('done');
  });

  it('[D5] stops one that does not come to an end', async () => {
    const { loader, outcome, directory } = await atWork({});
    await Promise.all([loader.close(), outcome]);
    expect(await readdir(directory)).toEqual(['begun']);
  });
});

it('[D5] an abort ends calls that wait for workers', async () => {
  const controller = new AbortController();
  const { signal } = controller;
  const loader = loaderOf(await singles([4]), { batchSize: 1, signal, ...by(1, 'neverEnds') });
  const outcome = expect(namesOf(loader as never)).rejects.toBe('enough');
  controller.abort('enough');
  await outcome;
});

it('functions are refused where there are workers, and formats that they cannot make', async () => {
  const samples = await singles([4]);
  const transform = (bytes: Uint8Array) => bytes;
  expect(() => loaderOf(samples, { batchSize: 1, workers: 1, transform })).toThrow(/^transform: .*module/);
  const other = await openSamples(await hierarchyOf([1]), {
    format: { ...rawRecords({ recordBytes: 8 }), name: 'own' },
  });
  expect(() => loaderOf(other, { batchSize: 1, workers: 1 })).toThrow(/^workers: .*madeBy/);
});
