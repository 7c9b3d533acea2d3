import { MetadataContainer, Random, systemClock, type ObjectStat } from '@tiered/core';
import { loadManifest, saveManifest } from '@tiered/core/internal';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { alternate, medianMs, ratio } from './lib/alternate.js';
import { atLeast, atMost, type Bench, type BenchOptions, type Check, type Row } from './lib/bench.js';
import { measureTier } from './namespace/tier.js';

/** Objects of ImageNet-22k. */
const FULL = 14_200_000;
const QUICK = 200_000;
/** As many as a Map of objects holds without trouble, and as few as fit into the processor's cache. */
const FEASIBLE = 1_000_000;
const SMALL = 1000;
const PAGE = 1000;
const SOURCE_LEVEL = 2;
const IDENTITY = 'bench';

/** What is found goes in here, and to the caller. */
interface Findings {
  readonly rows: Row[];
  readonly checks: Check[];
}

const bench: Bench = {
  summary:
    'a namespace of keys of 40 bytes and versions of 22: memory, look-ups, building, saving, loading; and a full tier of ' +
    'small objects with S3 ETags of 34: what it costs beyond the namespace',
  async run(options) {
    const findings: Findings = { rows: [], checks: [] };
    const entries = options.quick ? QUICK : FULL;
    // Before anything else has used memory: the peak of the process is a figure here.
    await measureLarge(entries, options, findings);
    for (const few of [SMALL, Math.min(FEASIBLE, entries)]) await compareWithMap(few, options, findings);
    findings.rows.push(...(await measureTier(options)));
    return findings;
  },
};

export default bench;

async function measureLarge(entries: number, options: BenchOptions, findings: Findings): Promise<void> {
  const directory = await fs.promises.mkdtemp(path.join(os.tmpdir(), 'tiered-bench-'));
  try {
    const file = path.join(directory, 'manifest');
    const bytes = await buildAndSave(entries, file, options, findings);
    // A second start has no other namespace beside the one it loads.
    options.progress('loading');
    await load(entries, bytes, file, findings);
  } finally {
    await fs.promises.rm(directory, { recursive: true });
  }
}

/** Resolves to the sum of the sizes. */
async function buildAndSave(
  entries: number,
  file: string,
  options: BenchOptions,
  findings: Findings,
): Promise<number> {
  options.progress(`building ${entries} entries`);
  const container = build(entries, findings);
  options.progress('looking up');
  lookUp(container, findings);
  options.progress('saving');
  const saving = await secondsOf(() => saveManifest(container, file, { identity: IDENTITY }));
  const megabytes = (await fs.promises.stat(file)).size / 1e6;
  findings.rows.push(
    { what: `${named(entries)}, manifest`, value: megabytes, unit: 'MB' },
    { what: `${named(entries)}, manifest saved`, value: saving, unit: 's' },
  );
  return container.bytes;
}

async function load(entries: number, bytes: number, file: string, findings: Findings): Promise<void> {
  const loading = await secondsOf(async () => {
    const loaded = await loadManifest(file, SOURCE_LEVEL, { identity: IDENTITY });
    if (loaded.count !== entries || loaded.bytes !== bytes)
      throw new Error('what was loaded is not what was saved');
  });
  findings.rows.push({ what: `${named(entries)}, manifest loaded`, value: loading, unit: 's' });
  findings.checks.push(atMost(`manifest of ${named(entries)} loaded`, loading, 5, 's'));
}

function build(entries: number, { rows, checks }: Findings): MetadataContainer {
  const generating = seconds(() => {
    for (const page of listing(entries)) if (page.length === 0) throw new Error('an empty page');
  });
  const before = memory();
  const container = new MetadataContainer(SOURCE_LEVEL);
  const building = seconds(() => {
    for (const page of listing(entries)) for (const object of page) container.put(object);
  });
  const bytes = (memory() - before) / entries;
  const peak = (process.resourceUsage().maxRSS * 1024) / 1e9;
  const name = named(entries);
  rows.push(
    { what: `${name}, built from a listing`, value: entries / building, unit: 'entries/s' },
    { what: `${name}, the same listing alone`, value: entries / generating, unit: 'entries/s' },
    { what: `${name}, heap and array buffers`, value: bytes, unit: 'bytes an entry' },
    { what: `${name}, RSS after building`, value: process.memoryUsage().rss / 1e9, unit: 'GB' },
    { what: `${name}, RSS while building, peak`, value: peak, unit: 'GB' },
  );
  checks.push(
    atMost('memory of an entry', bytes, 100, 'bytes'),
    atMost(`RSS of the process, ${name}, peak`, peak, 1.6, 'GB'),
    atLeast('built from a listing', entries / building, 500_000, 'entries/s'),
  );
  return container;
}

function lookUp(container: MetadataContainer, { rows, checks }: Findings): void {
  const name = named(container.count);
  for (const [kind, first] of [
    ['hits', 0],
    ['misses', container.count],
  ] as const) {
    const keys = someKeys(1_000_000, first, container.count);
    const expected = kind === 'hits' ? keys.length : 0;
    const nanoseconds = Math.min(...[1, 2, 3].map(() => findAll(container, keys, expected)));
    rows.push({ what: `${name}, look-ups at random, ${kind}`, value: nanoseconds, unit: 'ns' });
    checks.push(atMost(`look-up in ${name}, ${kind}`, nanoseconds / 1000, 1, 'us'));
  }
}

async function compareWithMap(entries: number, options: BenchOptions, { rows }: Findings): Promise<void> {
  const container = new MetadataContainer(SOURCE_LEVEL);
  for (const page of listing(entries)) for (const object of page) container.put(object);
  const before = memory();
  const map = new Map<string, ObjectStat>();
  for (const page of listing(entries)) for (const object of page) map.set(object.key, object);
  const bytes = (memory() - before) / entries;
  const keys = someKeys(1_000_000, 0, entries);
  const setups = {
    'JS Map': async () => {
      let found = 0;
      for (const key of keys) if (map.get(key) !== undefined) found += 1;
      if (found !== keys.length) throw new Error('a key was not found');
    },
    MetadataContainer: async () => void findAll(container, keys, keys.length),
  };
  const rounds = options.quick ? 3 : 11;
  const name = named(entries);
  const timings = await alternate(setups, rounds, (round) =>
    options.progress(`${name} in a Map: round ${round} of ${rounds}`),
  );
  const nanoseconds = (setup: string) => (medianMs(timings, setup) * 1e6) / keys.length;
  // Of a few it says more about the garbage collector.
  if (entries > SMALL)
    rows.push({ what: `${name} in a JS Map of objects, heap`, value: bytes, unit: 'bytes an entry' });
  rows.push(
    { what: `${name} in a JS Map, look-ups at random, hits`, value: nanoseconds('JS Map'), unit: 'ns' },
    { what: `${name}, look-ups at random, hits`, value: nanoseconds('MetadataContainer'), unit: 'ns' },
    {
      what: `${name}, the same`,
      value: ratio(timings, 'MetadataContainer', 'JS Map'),
      unit: 'x as fast as Map',
    },
  );
}

/** Nanoseconds of a look-up. */
function findAll(container: MetadataContainer, keys: readonly string[], expected: number): number {
  let found = 0;
  const taken = seconds(() => {
    for (const key of keys) if (container.find(key) >= 0) found += 1;
  });
  if (found !== expected) throw new Error(`${found} of ${expected} keys were found`);
  return (taken * 1e9) / keys.length;
}

/** Pages of a source, made while they are asked for. */
function* listing(entries: number): Generator<readonly ObjectStat[]> {
  for (let first = 0; first < entries; first += PAGE) {
    const length = Math.min(PAGE, entries - first);
    yield Array.from({ length }, (_, i) => objectAt(first + i));
  }
}

const keyBytes = Buffer.from('images/n00000000/n00000000_00000000.JPEG');
const versionBytes = Buffer.from('k3jd82h1-1tz4-00000000');

function objectAt(index: number): ObjectStat {
  return { key: keyAt(index), size: 100_000 + (index % 50_000), version: text(versionBytes, index, 14) };
}

/** Keys as a listing gives them: of one piece, and not put together from parts. */
function keyAt(index: number): string {
  const group = index % 21_841;
  digits(keyBytes, group, 8);
  digits(keyBytes, group, 18);
  return text(keyBytes, index, 27);
}

/** The text with a number of eight digits in it. */
function text(bytes: Buffer, value: number, at: number): string {
  digits(bytes, value, at);
  return bytes.toString('latin1');
}

function digits(bytes: Buffer, value: number, at: number): void {
  let rest = value;
  for (let i = at + 7; i >= at; i--) {
    bytes[i] = 48 + (rest % 10);
    rest = Math.trunc(rest / 10);
  }
}

function someKeys(count: number, first: number, entries: number): string[] {
  const random = new Random(1);
  return Array.from({ length: count }, () => keyAt(first + random.below(entries)));
}

/** Bytes of JavaScript's heap and of array buffers, after a collection. */
function memory(): number {
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

function seconds(work: () => void): number {
  const start = systemClock.now();
  work();
  return (systemClock.now() - start) / 1000;
}

async function secondsOf(work: () => Promise<void>): Promise<number> {
  globalThis.gc?.();
  const start = systemClock.now();
  await work();
  return (systemClock.now() - start) / 1000;
}

function named(entries: number): string {
  return `${entries.toLocaleString('en')} entries`;
}
