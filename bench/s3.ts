import { alternate, median, medianMs, ratio } from './lib/alternate.js';
import { atLeast, atMost, type Bench, type BenchOptions, type Check, type Row } from './lib/bench.js';
import { awsSdk, ours, type Client } from './s3/clients.js';
import { startServer, type BenchServer } from './s3/data.js';

const MIB = 2 ** 20;
const OURS = 'S3Driver';
const SDK = '@aws-sdk/client-s3';

/** A kind of work for both. */
interface Case {
  readonly name: string;
  readonly bucket: string;
  readonly bytes: number;
  readonly run: (client: Client) => Promise<void>;
  readonly aims: { readonly throughput?: number; readonly cpu?: number };
}

const bench: Bench = {
  summary:
    'S3Driver against @aws-sdk/client-s3: objects of 100 KB, ranges of 8 MiB and listings, from one server',
  run: async (options) => {
    const { quick, progress } = options;
    progress('starting the server');
    const small = { bucket: 'small', keys: 500, bytes: 100_000 };
    const large = { bucket: 'large', keys: 1, bytes: (quick ? 64 : 512) * MIB };
    const many = { bucket: 'many', keys: quick ? 2500 : 100_000, bytes: 10 };
    await using server = await startServer({ buckets: [small, large, many] });
    const scale = quick ? 0.02 : 1;
    const cases = [
      gets(1, 1000 * scale, {}),
      gets(8, 4000 * scale, {}),
      gets(32, 8000 * scale, { throughput: 1.3, cpu: 0.5 }),
      gets(128, 8000 * scale, {}),
      ranges(large.bytes, 4, { throughput: 1, cpu: 0.5 }),
      listing(many.keys),
    ];
    const rows: Row[] = [];
    const checks: Check[] = [];
    for (const which of cases) await measure(which, server, options, rows, checks);
    checks.push(await memory(server, large.bytes, options));
    return { rows, checks };
  },
};

export default bench;

/** So many objects of 100 KB, so many at a time. */
function gets(concurrency: number, count: number, aims: Case['aims']): Case {
  const run = (client: Client) =>
    concurrently(
      concurrency,
      count,
      async (i, target) => {
        const key = `train/0000/${String(i % 500).padStart(7, '0')}.jpg`;
        expectBytes(await client.read(key, target, 0, true), 100_000);
      },
      100_000,
    );
  return { name: `100 KB, ${concurrency} at a time`, bucket: 'small', bytes: count * 100_000, run, aims };
}

/** All of a large object in ranges of 8 MiB. */
function ranges(bytes: number, concurrency: number, aims: Case['aims']): Case {
  const run = (client: Client) =>
    concurrently(
      concurrency,
      bytes / (8 * MIB),
      async (i, target) => {
        expectBytes(await client.read('train/0000/0000000.jpg', target, i * 8 * MIB, false), 8 * MIB);
      },
      8 * MIB,
    );
  return { name: `ranges of 8 MiB, ${concurrency} at a time`, bucket: 'large', bytes, run, aims };
}

function listing(keys: number): Case {
  const run = async (client: Client) => expectBytes(await client.list(), keys);
  return { name: `listing ${keys} objects`, bucket: 'many', bytes: 0, run, aims: {} };
}

async function measure(
  { name, bucket, bytes, run, aims }: Case,
  server: BenchServer,
  { quick, progress }: BenchOptions,
  rows: Row[],
  checks: Check[],
): Promise<void> {
  const clients = { [OURS]: await ours(server, bucket), [SDK]: await awsSdk(server, bucket) };
  const cpu: Record<string, number[]> = { [OURS]: [], [SDK]: [] };
  const setups = Object.fromEntries(
    Object.entries(clients).map(([client, it]) => [
      client,
      async () => {
        const before = process.cpuUsage();
        await run(it);
        const { user, system } = process.cpuUsage(before);
        cpu[client]?.push((user + system) / 1e6);
      },
    ]),
  );
  const rounds = quick ? 1 : 5;
  const timings = await alternate(setups, rounds, (round) =>
    progress(`${name}: round ${round} of ${rounds}`),
  );
  for (const client of Object.values(clients)) await client.close();
  // The first round of each is not counted, as its time is not.
  const seconds = (client: string) => median((cpu[client] ?? []).slice(1));
  const cpuRatio = median(
    (cpu[OURS] ?? []).slice(1).map((own, i) => own / (cpu[SDK]?.[i + 1] ?? Number.NaN)),
  );
  for (const client of [OURS, SDK]) {
    rows.push({
      work: name,
      client,
      seconds: medianMs(timings, client) / 1000,
      'MB/s': bytes === 0 ? [] : bytes / 1000 / medianMs(timings, client),
      'CPU s': seconds(client),
      'CPU s/GB': bytes === 0 ? [] : seconds(client) / (bytes / 1e9),
      'x SDK': ratio(timings, client, SDK),
    });
  }
  if (aims.throughput !== undefined)
    checks.push(
      atLeast(`${name}: throughput, of the SDK's`, ratio(timings, OURS, SDK), aims.throughput, 'x'),
    );
  if (aims.cpu !== undefined) checks.push(atMost(`${name}: CPU a GB, of the SDK's`, cpuRatio, aims.cpu, 'x'));
}

/**
 * Memory that reading takes beyond the caller's: what is on its way in sockets, whatever the object's size.
 */
async function memory(server: BenchServer, bytes: number, { progress }: BenchOptions): Promise<Check> {
  progress('memory');
  const client = await ours(server, 'large');
  const part = 32 * MIB;
  const target = new Uint8Array(part).fill(1);
  globalThis.gc?.();
  const before = process.memoryUsage.rss();
  let most = before;
  for (let offset = 0; offset < bytes; offset += part) {
    expectBytes(await client.read('train/0000/0000000.jpg', target, offset, false), part);
    most = Math.max(most, process.memoryUsage.rss());
  }
  await client.close();
  return atMost(
    `${bytes / MIB} MiB in reads of 32 MiB: memory beyond theirs`,
    (most - before) / MIB,
    32,
    'MiB',
  );
}

async function concurrently(
  concurrency: number,
  count: number,
  read: (i: number, target: Uint8Array) => Promise<void>,
  bytes: number,
): Promise<void> {
  let next = 0;
  const reader = async (target: Uint8Array) => {
    while (next < count) await read(next++, target);
  };
  await Promise.all(targetsOf(concurrency, bytes).map(reader));
}

const kept = new Map<string, Uint8Array[]>();

/** Memory to read into, used again by every round: new memory costs as much as the reading. */
function targetsOf(concurrency: number, bytes: number): Uint8Array[] {
  const name = `${concurrency} ${bytes}`;
  const targets = kept.get(name) ?? Array.from({ length: concurrency }, () => new Uint8Array(bytes));
  kept.set(name, targets);
  return targets;
}

function expectBytes(got: number, expected: number): void {
  if (got !== expected) throw new Error(`${got} came instead of ${expected}`);
}
