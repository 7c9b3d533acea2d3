import { prefetched } from './prefetch/loops.js';
import { openWork, secondsOf } from './prefetch/work.js';
import { jittered, throttled, warmDisk, nearby } from './prefetch/sources.js';
const dir = '/dev/shm/zz';
const [,, src, size, count, opts, log] = process.argv;
const ds = size === 's' ? { name: '100 KB', directory: dir + '/small', count: 6000, size: 100_000 } : { name: '16 MiB', directory: dir + '/shards', count: 32, size: 16 * 2 ** 20 };
const source = { warm: warmDisk, slow: throttled, jit: jittered, near: nearby }[src!]!;
const work = await openWork(ds, source, Number(count));
for (let i = 0; i < 5; i++) {
  const c = process.cpuUsage();
  const s = await secondsOf(() => prefetched(JSON.parse(opts || '{}'), ({ prefetcher, changes }) => {
    const p = prefetcher.profile();
    if (log === 'l' && i === 0) for (const d of p.decisions) console.log(d.atMs.toFixed(0), JSON.stringify(d.decision.tuning), d.decision.reason);
    if (i === 4) { const { decisions, ...rest } = p; console.log(rest); }
    console.log(changes.map(({ atMs, producers }) => `${atMs.toFixed(0)}:${producers}`).join(' '));
  })(work));
  const u = process.cpuUsage(c);
  console.log(src, size, (Number(count) / s).toFixed(0), '/s', (Number(count) * ds.size / s / 1e6).toFixed(0), 'MB/s', 'cpu us/sample', ((u.user + u.system) / Number(count)).toFixed(1));
}
await work.hierarchy.close();
