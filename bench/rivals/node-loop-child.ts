import { Hierarchy } from '@tiered/core';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { limited, prefetched, tfjsPrefetch, type Loop, type Work } from '../prefetch/loops.js';
import { fromCacache } from './cacache.js';
import type { LoopName } from './node-loop.js';

/** Reads that loops without a tuner have under way. */
const CONCURRENCY = 64;
const BATCH = 32;

/** usage: LOOP LIST DIRECTORY SIZE MODULE < a line for each round; answers with the bytes that were read. */
const [name, list = '', directory = '', size = '', module = ''] = process.argv.slice(2);

const loops: Record<LoopName, Loop> = {
  'p-limit': limited(CONCURRENCY, true),
  'tfjs-data': tfjsPrefetch(CONCURRENCY, true),
  cacache: fromCacache(module, CONCURRENCY),
  prefetcher: prefetched(),
  'prefetcher in batches': prefetched({ batch: BATCH }),
};

const paths = readFileSync(list, 'utf8').trimEnd().split('\n');
const driver = new FileSystemDriver({ root: directory });
const hierarchy = await new Hierarchy({ source: driver }).open();
const keys = paths.map((one) => path.relative(directory, one));
const work: Work = { directory, keys, size: Number(size), driver, hierarchy };

const lines = readline.createInterface(process.stdin)[Symbol.asyncIterator]();
while ((await lines.next()).done !== true) {
  await loops[name as LoopName](work);
  process.stdout.write(`${keys.length * work.size}\n`);
}
await hierarchy.close();
