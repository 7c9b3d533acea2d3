import { Hierarchy, MemoryDriver, systemClock, type ReadOutcome } from '@tiered/core';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler } from '@tiered/tiering';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { atMost, type BenchOptions, type Check, type Row } from '../lib/bench.js';

const MIB = 2 ** 20;
const LARGE = 128 * MIB;
const PIECES = 10_000;
/** Milliseconds for which nothing may keep the event loop. */
const AIM_MS = 20;

interface Call {
  readonly call: string;
  readonly run: () => Promise<unknown>;
}

/** The longest time for which each call of a hierarchy keeps the event loop. */
export async function measureLoop(
  scratch: string,
  { quick, progress }: BenchOptions,
  rows: Row[],
  checks: Check[],
): Promise<void> {
  const objects = quick ? 100_000 : 1_000_000;
  progress(`event loop: making ${objects} objects`);
  const root = path.join(scratch, 'loop');
  await mkdir(root);
  await writeFile(path.join(root, 'large'), Buffer.alloc(LARGE, 'tiered'));
  const many = new MemoryDriver();
  for (let i = 0; i < objects; i++) await many.write(`class/${i}`, new Uint8Array(0), { size: 0 });
  const driver = new FileSystemDriver({ root: path.join(scratch, 'tier'), writable: true });
  const tiered = new Hierarchy({
    source: new FileSystemDriver({ root }),
    tiers: [{ driver, quota: 2 * LARGE }],
    placement: new PlacementHandler(),
  });
  const plain = new Hierarchy({ source: new FileSystemDriver({ root }) });
  const large = new Hierarchy({ source: many });
  const calls: Call[] = [
    { call: `open, ${objects} objects`, run: () => large.open() },
    { call: `list, ${objects} objects`, run: () => all(large.list()) },
    { call: `list of a prefix that none has`, run: () => all(large.list({ prefix: 'none' })) },
    { call: `rescan, ${objects} objects`, run: () => large.rescan() },
    { call: 'close', run: () => large.close() },
    { call: 'open of a source', run: () => plain.open() },
    ...readsOf('source', plain),
    { call: 'open with a tier', run: () => tiered.open() },
    { call: 'place, 128 MiB', run: () => tiered.place('large') },
    { call: 'idle', run: () => tiered.idle() },
    ...readsOf('tier', tiered),
    { call: 'rescan with a tier', run: () => tiered.rescan() },
    { call: 'close with a tier', run: () => tiered.close() },
    { call: 'close of a source', run: () => plain.close() },
  ];
  for (const { call, run } of calls) {
    progress(`event loop: ${call}`);
    globalThis.gc?.();
    const { ms, processorMs: computed } = await longestStand(run);
    rows.push({ call, 'longest stand, ms': ms, 'of that computing, ms': computed });
    checks.push(atMost(`event loop: ${call}`, Number.isNaN(computed) ? ms : computed, AIM_MS, 'ms'));
  }
}

function readsOf(from: string, hierarchy: Hierarchy): Call[] {
  const pieces = Float64Array.from({ length: 2 * PIECES }, (_, i) => (i % 2 === 0 ? 5000 * i : 1000));
  const memory = (bytes: number, isShared: boolean) =>
    new Uint8Array(isShared ? new SharedArrayBuffer(bytes) : new ArrayBuffer(bytes));
  const calls: Call[] = [
    { call: `stat, ${from}`, run: () => hierarchy.stat('large') },
    { call: `handle, ${from}`, run: () => hierarchy.handle('large') },
    { call: `read, 128 MiB, ${from}`, run: () => hierarchy.read('large') },
  ];
  for (const isShared of [true, false]) {
    const kind = isShared ? 'shared' : 'private';
    const whole = memory(LARGE, isShared);
    const parts = memory(PIECES * 1000, isShared);
    const batch = [{ key: 'large', target: whole }];
    calls.push(
      { call: `readInto, 128 MiB, ${kind}, ${from}`, run: () => hierarchy.readInto('large', whole) },
      { call: `readMany, 128 MiB, ${kind}, ${from}`, run: async () => read(await hierarchy.readMany(batch)) },
      {
        call: `readMany, ${PIECES} pieces, ${kind}, ${from}`,
        run: async () => read(await hierarchy.readMany([{ key: 'large', target: parts, pieces }])),
      },
    );
  }
  return calls;
}

function read(outcomes: readonly ReadOutcome[]): void {
  for (const outcome of outcomes) if ('error' in outcome) throw outcome.error;
}

async function all(pages: AsyncIterable<readonly unknown[]>): Promise<number> {
  let objects = 0;
  for await (const page of pages) objects += page.length;
  return objects;
}

/** The longest time between two turns of the event loop. */
interface Stand {
  readonly ms: number;
  /** How much of such a time its thread computed, and did not wait for a core; NaN where nobody can tell. */
  readonly processorMs: number;
}

async function longestStand(work: () => Promise<unknown>): Promise<Stand> {
  let [last, lastProcessor] = [systemClock.now(), processorMs()];
  let longest: Stand = { ms: 0, processorMs: 0 };
  const look = () => {
    const [now, processor] = [systemClock.now(), processorMs()];
    longest = {
      ms: Math.max(longest.ms, now - last),
      processorMs: Math.max(longest.processorMs, processor - lastProcessor),
    };
    [last, lastProcessor] = [now, processor];
  };
  let next = setImmediate(function turn() {
    look();
    next = setImmediate(turn);
  });
  await work();
  look();
  clearImmediate(next);
  return longest;
}

/** Processor time of this thread, as Linux counts it. */
function processorMs(): number {
  if (process.platform !== 'linux') return Number.NaN;
  return Number(readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ')[0]) / 1e6;
}
