import type { Hierarchy } from '@tiered/core';
import { ThreadLoader } from '@tiered/loader';
import { listSequence, Prefetcher } from '@tiered/prefetch';
import { servePrefetcher } from '@tiered/sharing';
import path from 'node:path';
import { FROM_SOURCES } from '../../packages/loader/test/from-sources.js';
import { startClient, told, type Consumed } from '../prefetch/clients.js';
import type { OtherProcess } from './cost-of.js';
import { loaderOf, type LoaderOf, type openLoader } from './loaders.js';

/** A way for samples to come to a training. */
export const LOOPS = [
  'readInto',
  'Prefetcher',
  'DataLoader',
  'DataLoader, 1 worker',
  'ThreadLoader',
  'another process',
] as const;

/** One of `LOOPS`. */
export type Loop = (typeof LOOPS)[number];

/** A way to read objects, each once. Resolves to what it costs another process, if there is one. */
export type ReadAll = (keys: readonly string[]) => Promise<OtherProcess | undefined>;

/** The task of a loop: to read all objects of a hierarchy, so many times. */
export interface LoopTask {
  readonly hierarchy: Hierarchy;
  /** The root of the source, if it is a directory. */
  readonly root: string;
  /** Bytes of an object. */
  readonly bytes: number;
  /** A directory for a socket. */
  readonly scratch: string;
  readonly passes: number;
}

/** Reads under way at the same time, where nothing tunes them. */
const LANES = 16;

/** Makes a reader. It starts its threads and processes now, or at the first pass. */
export function readerOf(loop: Loop, task: LoopTask): Promise<ReadAll> | ReadAll {
  const { hierarchy, root, bytes, passes: epochs } = task;
  const loader = (workers: number): LoaderOf => ({ bytes, workers, epochs });
  switch (loop) {
    case 'readInto':
      return readInto(task);
    case 'Prefetcher':
      return prefetched(task);
    case 'DataLoader':
      return loaded(() => loaderOf(hierarchy, loader(0)));
    case 'DataLoader, 1 worker':
      return loaded(() => loaderOf(hierarchy, loader(1)));
    case 'ThreadLoader':
      return loaded(() => {
        const there = { module: new URL('loaders.ts', import.meta.url), export: 'openLoader' };
        const argument: Parameters<typeof openLoader>[0] = { root, ...loader(0) };
        return ThreadLoader.open<unknown[]>(there, { argument, execArgv: FROM_SOURCES });
      });
    case 'another process':
      return elsewhere(task);
  }
}

function readInto({ hierarchy, bytes }: LoopTask): ReadAll {
  const memory = Array.from({ length: LANES }, () => new Uint8Array(new SharedArrayBuffer(bytes)));
  return async (keys) => {
    const rest = keys.values();
    await Promise.all(
      memory.map(async (target) => {
        for (const key of rest) await hierarchy.readInto(key, target);
      }),
    );
    return undefined;
  };
}

function prefetched({ hierarchy }: LoopTask): ReadAll {
  return async (keys) => {
    let bytes = 0;
    for await (const { data } of new Prefetcher(hierarchy, listSequence(keys))) bytes += data.byteLength;
    if (bytes === 0) throw new Error('nothing was read');
    return undefined;
  };
}

/** A loader of all objects. Each call takes an epoch, so samples are found once, and threads start once. */
function loaded(
  open: () => Promise<{ epoch(): AsyncIterable<{ readonly data: { readonly length: number } }> }>,
): ReadAll {
  let loader: Awaited<ReturnType<typeof open>> | undefined;
  return async (keys) => {
    loader ??= await open();
    let count = 0;
    for await (const { data } of loader.epoch()) count += data.length;
    if (count !== keys.length) throw new Error(`${count} of ${keys.length} samples came`);
    return undefined;
  };
}

/** A process that takes the samples of a prefetcher of this one. A new one for each pass, started before. */
async function elsewhere({ hierarchy, bytes, scratch, passes }: LoopTask): Promise<ReadAll> {
  const socket = path.join(scratch, 'samples.sock');
  const start = () => startClient(socket, 'memory');
  const clients = (await Promise.all(Array.from({ length: passes }, start))).values();
  return async (keys) => {
    const { value: client } = clients.next();
    if (client === undefined) throw new Error('there is no process left for this pass');
    const prefetcher = new Prefetcher(hierarchy, listSequence(keys));
    const server = await servePrefetcher(prefetcher, { path: socket });
    await told(client, 'connect');
    const consumed = (await told(client, 'begin')) as Consumed;
    await server.close();
    await prefetcher.close();
    if (consumed.bytes !== bytes * keys.length) throw new Error(`${consumed.bytes} bytes came`);
    return consumed;
  };
}
