import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Bench, Check, Row } from './lib/bench.js';
import { withScratch } from './lib/scratch.js';
import { Client } from './gateway/client.js';
import { gateway, rclone, type Contestant } from './gateway/contestants.js';
import { measureConnections } from './gateway/connections.js';
import { keysOf, shards, smallObjects, type Dataset } from './gateway/datasets.js';
import { compareEpochs } from './gateway/epochs.js';
import { nginxCache, nginxFiles } from './gateway/nginx.js';
import { compareWarm } from './gateway/warm.js';

const bench: Bench = {
  summary:
    'an S3 source read through the gateway, nginx and rclone: three epochs with a cache for 56 %, then all of it from the cache',
  run: (options) =>
    withScratch(async (scratch) => {
      const [rows, checks]: [Row[], Check[]] = [[], []];
      await using client = await Client.start();
      const measuring = { scratch, client, options, rows, checks };
      const [large, small] = [shards(options.quick), smallObjects(options.quick)];
      const [one, two] = [gateway(1), gateway(2)];
      const [nginx, nginx2] = [nginxCache(1), nginxCache(2)];
      for (const dataset of [large, small]) await compareEpochs(dataset, [one, nginx, rclone], measuring);
      const files = await writeFiles(scratch, [large, small]);
      const all = [one, two, nginx, nginx2, rclone, nginxFiles(files, 1)];
      // The start of so many servers is most of a quick run.
      if (!options.quick) await compareWarm(large, all, [{ of: one, beside: nginx, least: 0.9 }], measuring);
      const aims = [
        { of: one, beside: nginx, least: 0.5 },
        { of: two, beside: nginx2, least: 0.9 },
      ];
      await compareWarm(small, all, aims, measuring);
      await measureConnections(small, one, measuring);
      notThere([one, two, nginx, rclone], rows);
      return { rows, checks };
    }),
};

export default bench;

/** All objects as files, as somebody copies them by hand. */
async function writeFiles(scratch: string, datasets: readonly Dataset[]): Promise<string> {
  const root = path.join(scratch, 'files');
  for (const dataset of datasets) {
    const content = Buffer.alloc(dataset.bytes, 'tiered');
    for (const key of keysOf(dataset)) {
      const file = path.join(root, dataset.bucket, key);
      await mkdir(path.dirname(file), { recursive: true });
      await writeFile(file, content);
    }
  }
  return root;
}

/** Says what was left out. */
function notThere(contestants: readonly Contestant[], rows: Row[]): void {
  for (const { name, isThere, install } of contestants)
    if (!isThere) rows.push({ 'left out': name, why: `not here (${install})` });
}
