import { Random, systemClock } from '@tiered/core';
import fs from 'node:fs';
import path from 'node:path';
import { parentPort } from 'node:worker_threads';
import { hierarchyOf, indexOf, sourceOf, type Place } from '../place.js';

/** What a parent asks for, one at a time. */
export type Request =
  /** Each of several readers, 1 by default, reads all of them. */
  | { readonly ask: 'read'; readonly keys: readonly string[]; readonly readers?: number }
  /** Reads at random, without an answer, until the process is killed. */
  | { readonly ask: 'readForever'; readonly seed: number }
  | { readonly ask: 'place'; readonly key: string }
  /** Has an object placed, and is stopped while the index is being written for it, or a little later. */
  | { readonly ask: 'stopWriting'; readonly key: string }
  /** `exit`: at once, whatever is under way. */
  | { readonly ask: 'idle' | 'close' | 'exit' };

/** The answer to a request, or what happens meanwhile. */
export type Said =
  | {
      readonly say: 'done';
      readonly wrong: readonly string[];
      readonly brought: number;
      readonly usedBytes: number;
      readonly quotaBytes: number;
    }
  | { readonly say: 'fault'; readonly operation: string; readonly code: string; readonly message: string }
  | { readonly say: 'placed' | 'inService' | 'reads' }
  | { readonly say: 'wrong'; readonly key: string };

/** Some tens of milliseconds. */
const MOST_LOOKS = 20_000;

const place = JSON.parse(process.argv[2] ?? '') as Place;
const { hierarchy, brought } = hierarchyOf(place);
/** The other end of a thread; of a process it is the process itself. */
const port = parentPort;
const say = (said: Said) => (port === null ? process.send?.(said) : port.postMessage(said));

/** Reads a part of an object, or all of it; says whether it is the source's. */
async function isRight(key: string, random?: Random): Promise<boolean> {
  const bytes = fs.readFileSync(path.join(sourceOf(place), key));
  const offset = random?.below(3) === 0 ? random.below(bytes.byteLength + 1) : 0;
  const length = offset === 0 ? bytes.byteLength : (random?.below(bytes.byteLength + 1) ?? 0);
  const got = await hierarchy.read(key, { offset, length });
  return Buffer.compare(got, bytes.subarray(offset, offset + length)) === 0;
}

/** Reads objects one after the other, and notes those that are not the source's. */
async function readAll(keys: readonly string[], wrong: string[]): Promise<void> {
  for (const key of keys) if (!(await isRight(key))) wrong.push(key);
}

async function readForever(seed: number): Promise<void> {
  const keys = fs.readdirSync(sourceOf(place), { recursive: true, encoding: 'utf8' });
  const objects = keys.filter((key) => fs.statSync(path.join(sourceOf(place), key)).isFile()).sort();
  const reader = async (random: Random): Promise<void> => {
    for (let reads = 1; ; reads++) {
      const key = objects[random.below(objects.length)] ?? '';
      if (!(await isRight(key, random))) say({ say: 'wrong', key });
      if (reads % 20 === 0) say({ say: 'reads' });
    }
  };
  await Promise.all([1, 2, 3, 4].map((number) => reader(new Random(seed, number))));
}

/** The index's thread writes meanwhile; this one only looks until it has begun to. */
async function stopWriting(key: string): Promise<void> {
  const log = `${indexOf(place)}-wal`;
  const written = () => fs.statSync(log, { bigint: true, throwIfNoEntry: false })?.mtimeNs;
  const before = written();
  const read = hierarchy.read(key);
  await systemClock.turn();
  for (let looks = 0; looks < MOST_LOOKS && written() === before; looks++);
  process.kill(process.pid, 'SIGSTOP');
  await read;
}

async function answer(request: Request): Promise<void> {
  const wrong: string[] = [];
  switch (request.ask) {
    case 'read':
      await Promise.all(Array.from({ length: request.readers ?? 1 }, () => readAll(request.keys, wrong)));
      break;
    case 'readForever':
      await readForever(request.seed);
      break;
    case 'place':
      await hierarchy.place(request.key);
      break;
    case 'stopWriting':
      await stopWriting(request.key);
      break;
    case 'idle':
      await hierarchy.idle();
      break;
    case 'exit':
      process.exit();
      break;
    case 'close':
      await hierarchy.close();
  }
  done(wrong);
  if (request.ask !== 'close') return;
  if (port === null) process.disconnect();
  else port.close();
}

function done(wrong: readonly string[] = []): void {
  const { usedBytes = 0, quotaBytes = 0 } = hierarchy.stats().tiers[0] ?? {};
  say({ say: 'done', wrong, brought: brought(), usedBytes, quotaBytes });
}

hierarchy.on('placed', () => say({ say: 'placed' }));
hierarchy.on('tierInService', () => say({ say: 'inService' }));
hierarchy.on('tierFault', ({ operation, error }) => {
  const { code = '', message = String(error) } = error as { code?: string; message?: string };
  say({ say: 'fault', operation, code, message });
});
await hierarchy.open();
(port ?? process).on('message', (request: Request) => void answer(request));
done();
