import { Hierarchy } from '@tiered/core';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler } from '@tiered/tiering';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { median } from '../lib/alternate.js';
import { atMost, type BenchOptions, type Check, type Row } from '../lib/bench.js';

const KEY = 'shard';
const PIECE_BYTES = 1000;
/** From one piece to the next, so that no two are neighbours. */
const STEP = 5000;
const COUNTS = [1, 1000, 10_000];
const MOST = 10_000;
/** As pieces of one object that stays in the source. */
const RANGES = 'readInto of each, at once';

type Memory = 'SharedArrayBuffer' | 'ArrayBuffer';

/** One way to read so many pieces of the shard. */
interface Way {
  readonly levels: string;
  readonly setup: string;
  readonly memory: Memory;
  readonly pieces: number;
  readonly read: () => Promise<void>;
}

/** What a read took, by the processors and of the event loop. */
interface Cost {
  readonly processorMs: number;
  readonly loopMs: number;
}

/** Pieces of one object in the source, in one read, against a read of one piece. */
export async function measurePieces(
  scratch: string,
  { quick, progress }: BenchOptions,
  rows: Row[],
  checks: Check[],
): Promise<void> {
  const root = path.join(scratch, 'pieces');
  await mkdir(root, { recursive: true });
  await writeFile(path.join(root, KEY), Buffer.alloc(MOST * STEP, 'tiered'));
  const source = () => new FileSystemDriver({ root });
  await using plain = await new Hierarchy({ source: source() }).open();
  const tiers = [
    { driver: new FileSystemDriver({ root: path.join(scratch, 'full'), writable: true }), quota: '32MiB' },
  ] as const;
  const policy = { name: 'nothing', place: () => undefined };
  const placement = new PlacementHandler({ policy });
  await using tiered = await new Hierarchy({ source: source(), tiers, placement }).open();
  const ways = [...waysOf('source alone', plain), ...waysOf('a tier without it', tiered)];
  const costs = new Map<Way, Cost[]>(ways.map((way) => [way, []]));
  const rounds = quick ? 3 : 11;
  for (let round = 0; round <= rounds; round++) {
    progress(`pieces: round ${round} of ${rounds}`);
    for (const way of ways) {
      const cost = await costOf(way);
      if (round > 0) costs.get(way)?.push(cost);
    }
  }
  for (const [way, ofRounds] of costs) {
    const { levels, setup, memory, pieces } = way;
    const loopMs = median(ofRounds.map((cost) => cost.loopMs));
    const processorMs = median(ofRounds.map((cost) => cost.processorMs));
    rows.push({ levels, setup, memory, pieces, 'event loop ms': loopMs, 'processor ms': processorMs });
    if (setup !== RANGES && pieces === 1000)
      checks.push(atMost(`a thousand pieces, ${levels}, ${memory}`, loopMs, 5, 'ms of the event loop'));
  }
}

function waysOf(levels: string, hierarchy: Hierarchy): Way[] {
  const ways: Way[] = [];
  for (const memory of ['SharedArrayBuffer', 'ArrayBuffer'] as const) {
    for (const count of COUNTS) {
      const target = memoryOf(memory, count);
      const pieces = Float64Array.from({ length: 2 * count }, (_, i) =>
        i % 2 === 0 ? (i / 2) * STEP : PIECE_BYTES,
      );
      const read = async () => {
        const [outcome] = await hierarchy.readMany([{ key: KEY, target, pieces }]);
        if (outcome === undefined || 'error' in outcome) throw new Error('the pieces could not be read');
      };
      ways.push({ levels, setup: 'readMany', memory, pieces: count, read });
    }
  }
  const single = memoryOf('SharedArrayBuffer', 1000);
  const read = async () => {
    const reads = Array.from({ length: 1000 }, (_, i) =>
      hierarchy.readInto(KEY, single.subarray(i * PIECE_BYTES, (i + 1) * PIECE_BYTES), { offset: i * STEP }),
    );
    await Promise.all(reads);
  };
  return [...ways, { levels, setup: RANGES, memory: 'SharedArrayBuffer', pieces: 1000, read }];
}

function memoryOf(kind: Memory, pieces: number): Uint8Array {
  const bytes = pieces * PIECE_BYTES;
  return new Uint8Array(kind === 'ArrayBuffer' ? new ArrayBuffer(bytes) : new SharedArrayBuffer(bytes));
}

async function costOf({ read }: Way): Promise<Cost> {
  globalThis.gc?.();
  const before = performance.eventLoopUtilization();
  const processor = process.cpuUsage();
  await read();
  const { user, system } = process.cpuUsage(processor);
  const { active } = performance.eventLoopUtilization(before);
  return { processorMs: (user + system) / 1000, loopMs: active };
}
