import path from 'node:path';
import { compare } from './prefetch/compare.js';
import { againstGrid } from './prefetch/grid.js';
import { manyConsumers, stalls, threeEpochs } from './prefetch/consuming.js';
import { jittered, throttled, warmDisk } from './prefetch/sources.js';
import { makeFiles } from './prefetch/work.js';
import { renderRows, renderChecks } from './lib/table.js';
const which = process.argv[2];
const dir = '/dev/shm/zz';
import { existsSync } from 'node:fs';
const small = existsSync(dir + '/small/5999') ? { name: '100 KB', directory: dir + '/small', count: 6000, size: 100_000 } : await makeFiles(dir + '/small', '100 KB', 6000, 100_000);
const shards = existsSync(dir + '/shards/31') ? { name: '16 MiB', directory: dir + '/shards', count: 32, size: 16 * 2 ** 20 } : await makeFiles(dir + '/shards', '16 MiB', 32, 16 * 2 ** 20);
const o = { quick: process.argv[3] === 'q', progress: () => undefined };
const c = (source: any, dataset: any, count: number) => ({ source, dataset, count });
const r = which === 'warm' ? await compare(c(warmDisk, small, 3000), o)
  : which === 'warmshards' ? await compare(c(warmDisk, shards, 32), o)
  : which === 'slow' ? await compare(c(throttled, small, 3000), o)
  : which === 'slowshards' ? await compare(c(throttled, shards, 16), o)
  : which === 'jit' ? await compare(c(jittered, small, 2000), o)
  : which === 'jitshards' ? await compare(c(jittered, shards, 32), o)
  : which === 'grid' ? await againstGrid(c(throttled, small, 2000), o)
  : which === 'gridj' ? await againstGrid(c(jittered, small, 2000), o)
  : which === 'gridw' ? await againstGrid(c(warmDisk, small, 6000), o)
  : which === 'stall' ? await stalls(c(throttled, small, 1500), o)
  : which === 'cons' ? await manyConsumers(c(warmDisk, small, 3000), o)
  : await threeEpochs(small, o);
console.log(renderRows(r.rows)); console.log(renderChecks(r.checks));
