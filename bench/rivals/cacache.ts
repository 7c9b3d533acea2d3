import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import pLimit from 'p-limit';
import { consume, type Loop } from '../prefetch/loops.js';

/** What is used of cacache, npm's cache, which is not installed with this project. */
interface Cacache {
  get(cache: string, key: string): Promise<{ readonly data: Uint8Array }>;
  put(cache: string, key: string, data: Uint8Array): Promise<unknown>;
}

/** Files that are put at the same time. */
const PUTS = 16;

/** Where cacache's code is, in node_modules here or in NODE_PATH; `undefined` if it is not installed. */
export function findCacache(): string | undefined {
  // Not written as an import, which would make it a dependency.
  const name = 'cacache';
  try {
    return createRequire(import.meta.url).resolve(name);
  } catch {
    return undefined;
  }
}

/** Where a directory of files has its cache beside it. */
function cacheBeside(directory: string): string {
  return path.join(directory, '..', 'cacache');
}

/** Puts objects of one size, each with a content of its own: cacache keeps the same content only once. */
export async function fillCacache(
  module: string,
  directory: string,
  keys: readonly string[],
  size: number,
): Promise<void> {
  const cacache = await load(module);
  const limit = pLimit(PUTS);
  const put = (key: string) =>
    cacache.put(cacheBeside(directory), key, Buffer.alloc(size, `content ${key} `));
  await Promise.all(keys.map((key) => limit(() => put(key))));
}

/** The objects of `fillCacache`, so many reads at a time. */
export function fromCacache(module: string, concurrency: number): Loop {
  return async ({ directory, keys, size }) => {
    const cacache = await load(module);
    const limit = pLimit(concurrency);
    const read = async (key: string) => (await cacache.get(cacheBeside(directory), key)).data;
    await Promise.all(keys.map((key) => limit(async () => consume(await read(key), size))));
  };
}

async function load(module: string): Promise<Cacache> {
  return ((await import(pathToFileURL(module).href)) as { default: Cacache }).default;
}
