import { ThreadLoader, type LoaderState, type Stacked } from '@tiered/loader';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FROM_SOURCES } from './from-sources.js';
import { makeLoader, type Asked } from './workers/loaders.js';

const LOADERS = new URL('./workers/loaders.ts', import.meta.url);
const COUNTS = [5, 8];

async function opened(argument: Asked, name = 'makeLoader'): Promise<ThreadLoader<Stacked<Uint8Array>>> {
  const loader = await ThreadLoader.open<Stacked<Uint8Array>>(
    { module: LOADERS, export: name },
    { argument, execArgv: FROM_SOURCES },
  );
  onTestFinished(() => loader.close());
  return loader;
}

type Batches = AsyncIterable<{ readonly epoch: number; readonly index: number; readonly data: unknown }>;

async function batchesOf(batches: Batches): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const { epoch, index, data } of batches) all.push([epoch, index, [...(data as Stacked).data]]);
  return all;
}

async function epochsOf(batches: AsyncIterable<{ readonly epoch: number }>): Promise<number[]> {
  const epochs: number[] = [];
  for await (const { epoch } of batches) epochs.push(epoch);
  return epochs;
}

/** What the same loader gives in this thread. */
async function here(resume?: LoaderState): Promise<unknown[]> {
  const { loader, close } = await makeLoader({ counts: COUNTS, ...(resume && { resume }) });
  const batches = await batchesOf(loader);
  await close?.();
  return batches;
}

describe('a loader in a thread of its own', () => {
  it('[D2] gives what it gives in this one, by epoch or as a whole', async () => {
    expect(await batchesOf(await opened({ counts: COUNTS }))).toEqual(await here());
    const loader = await opened({ counts: COUNTS });
    expect(loader.batchesPerEpoch).toBe(4);
    const batches = [await batchesOf(loader.epoch()), await batchesOf(loader.epoch())];
    expect(batches.flat()).toEqual(await here());
    expect(await batchesOf(loader.epoch())).toEqual([]);
    expect(await loader.report()).toContain('epoch 1: 4 batches, 13 samples');
    const { epochs, ...figures } = await loader.figures();
    expect(figures).toMatchObject({ samples: 13, batchSize: 4, batchesPerEpoch: 4, tiers: [] });
    expect(epochs.map(({ batches }) => batches)).toEqual([4, 4]);
  });

  it('[D4] says where the training stands, and not how far it has read ahead', async () => {
    const loader = await opened({ counts: COUNTS });
    const first: unknown[] = [];
    for await (const { epoch, index, data } of loader.epoch()) {
      first.push([epoch, index, [...data.data]]);
      if (first.length === 2) break;
    }
    const state = loader.stateDict();
    expect(state).toMatchObject({ epoch: 0, done: 8 });
    const rest = await batchesOf(await opened({ counts: COUNTS, resume: state }));
    const indexes = (batches: unknown[]) => batches.map((batch) => (batch as unknown[])[2]);
    expect([...indexes(first), ...indexes(rest)]).toEqual(indexes(await here()));
  });

  it('[D12] keeps epochs apart, after a resume and among loops', async () => {
    const counts = [40];
    const before = await opened({ counts, batchSize: 10 });
    for await (const { index } of before.epoch()) if (index === 2) break;
    const resumed = await opened({ counts, batchSize: 16, dropLast: true, resume: before.stateDict() });
    expect(await epochsOf(resumed.epoch())).toEqual([1, 1]);
    expect(await epochsOf(resumed.epoch())).toEqual([]);
    const loader = await opened({ counts });
    for (const epoch of [0, 1]) {
      const all = await Promise.all([loader.epoch(), loader.epoch(), loader.epoch()].map(epochsOf));
      expect(all.flat()).toEqual(Array.from({ length: 10 }, () => epoch));
    }
  });

  it('[D12] stands at the end where a resume leaves nothing', async () => {
    const resume = { ...(await opened({ counts: [40] })).stateDict(), epoch: 1, done: 30 };
    const loader = await opened({ counts: [40], batchSize: 16, dropLast: true, resume });
    expect(await epochsOf(loader.epoch())).toEqual([]);
    expect(loader.stateDict()).toMatchObject({ epoch: 2, done: 0 });
  });

  it('[D13] gives what its transform keeps, in each batch', async () => {
    const loader = await opened({ counts: [20], isConstant: true });
    let samples = 0;
    for await (const { data } of loader)
      for (const one of data as unknown as Uint8Array[]) {
        expect([...one]).toEqual([1, 2, 3]);
        samples += 1;
      }
    expect(samples).toBe(40);
  });

  it('reads files by native threads, and closes them, without a word', async () => {
    const root = await mkdtemp(path.join(os.tmpdir(), 'thread-loader-'));
    onTestFinished(() => rm(root, { recursive: true }));
    for (const name of ['a', 'b']) await writeFile(path.join(root, name), new Uint8Array(800));
    const said: string[] = [];
    process.once('worker', ({ stderr }) => stderr.on('data', (text: Buffer) => said.push(String(text))));
    const loader = await ThreadLoader.open(
      { module: LOADERS, export: 'makeOfFiles' },
      { argument: root, execArgv: FROM_SOURCES },
    );
    let batches = 0;
    for await (const { index } of loader) batches = index + 1;
    expect(batches).toBe(50);
    expect(said).toEqual([]);
  });

  it('[D5] can be closed while its transform never ends', async () => {
    const loader = await opened({ counts: [4], batchSize: 1, hangsAt: 3 });
    const outcome = expect(batchesOf(loader)).rejects.toMatchObject({ code: 'TIERED_CLOSED' });
    await loader.figures();
    await loader.close();
    await outcome;
  });

  it('[D5] fails with the error of its loader, at its place', async () => {
    const loader = await opened({ counts: COUNTS, failsAt: 7 });
    await expect(batchesOf(loader)).rejects.toMatchObject({
      code: 'TIERED_TRANSFORM_FAILED',
      cause: expect.objectContaining({ message: 'refused' }),
    });
  });

  it('[D5] that cannot be made, or whose thread ends, is an error', async () => {
    await expect(opened({ counts: COUNTS }, 'throws')).rejects.toThrow('no loader today');
    await expect(opened({ counts: COUNTS }, 'missing')).rejects.toThrow(/no function "missing"/);
    await expect(opened({ counts: COUNTS }, 'exits')).rejects.toMatchObject({ code: 'TIERED_WORKER_FAILED' });
  });

  it('[D5] that never gets ready is ended by an abort', async () => {
    const controller = new AbortController();
    const opening = ThreadLoader.open(
      { module: LOADERS, export: 'neverReady' },
      { execArgv: FROM_SOURCES, signal: controller.signal },
    );
    controller.abort('enough');
    await expect(opening).rejects.toBe('enough');
  });

  it('[D5] gives no figures once it is closed, also to those who wait for them', async () => {
    const loader = await opened({ counts: COUNTS });
    const closed = { code: 'TIERED_CLOSED' };
    const waiting = expect(loader.figures()).rejects.toMatchObject(closed);
    await loader.close();
    await waiting;
    await expect(loader.figures()).rejects.toMatchObject(closed);
  });

  it('[D5] can be closed while a call waits, and gives nothing after that', async () => {
    const loader = await opened({ counts: COUNTS });
    const iterator = loader[Symbol.asyncIterator]();
    await iterator.next();
    await loader.close();
    await expect(iterator.next()).rejects.toMatchObject({ code: 'TIERED_CLOSED' });
    await expect(loader.report()).rejects.toMatchObject({ code: 'TIERED_CLOSED' });
  });
});
