import pLimit from 'p-limit';
import { damaged, type SourceObjects } from '../contract/format.js';
import { columnsOf, objectIn, type Column } from './columns.js';

/** What an `index.json` says of a shard. */
export interface IndexedShard {
  /** Bytes of the object. */
  readonly bytes: number;
  readonly samples: number;
  readonly columns: readonly Column[];
  /** How it is compressed, such as `zstd:3`. */
  readonly compression: string | undefined;
  /** What its bytes hash to, in hex, by the names of the algorithms. */
  readonly hashes: Readonly<Record<string, string>>;
}

/** The shards of a source, as its files `index.json` name them. */
export interface SourceIndex {
  readonly shards: ReadonlyMap<string, IndexedShard>;
  /** The directories that have an `index.json`: all shards in them are named. */
  readonly directories: ReadonlySet<string>;
}

/** The name of the file that tells of the shards beside it, and in directories below. */
const NAME = 'index.json';
const ADVICE = 'Write or fetch the dataset again.';
/** Samples of a record are counted by 32 bits. */
const MOST_SAMPLES = 2 ** 32 - 1;
/** Files that are read at the same time. */
const CONCURRENCY = 16;

/** The directory of a key, with the slash behind it. */
export function directoryOf(key: string): string {
  return key.slice(0, key.lastIndexOf('/') + 1);
}

/** Reads each `index.json` that has shards beside it or below. */
export async function readSourceIndex(source: SourceObjects): Promise<SourceIndex> {
  const shards = new Map<string, IndexedShard>();
  const directories = new Set<string>();
  const there = new Set(source.all);
  const above = new Set(source.keys.flatMap(directoriesAbove));
  const files = [...above].map((directory) => `${directory}${NAME}`).filter((key) => there.has(key));
  const limit = pLimit(CONCURRENCY);
  const contents = await Promise.all(files.map((key) => limit(() => source.read(key))));
  for (const [i, key] of files.entries()) {
    const found = shardsIn(contents[i] ?? new Uint8Array());
    if (typeof found === 'string') {
      source.onDamage(damaged({ key, offset: 0 }, found, ADVICE));
      continue;
    }
    const directory = directoryOf(key);
    directories.add(directory);
    for (const { raw, zip } of found) {
      // Both are there if its writer kept what it compressed. Of the plain one, samples can be read singly.
      const one = [raw, zip].find((file) => file !== undefined && there.has(directory + file.name));
      if (one !== undefined) shards.set(directory + one.name, one.shard);
      else source.onDamage(damaged({ key, offset: 0 }, `${(zip ?? raw).name} is not there`, ADVICE));
    }
  }
  return { shards, directories };
}

/** Those of a key, from the root on. */
function directoriesAbove(key: string): string[] {
  const parts = key.split('/').slice(0, -1);
  return ['', ...parts.map((_, i) => `${parts.slice(0, i + 1).join('/')}/`)];
}

/** A shard as a file with a name. */
interface ShardFile {
  readonly name: string;
  readonly shard: IndexedShard;
}

/** The shards of an `index.json`, plain and compressed; or what is wrong with it. */
function shardsIn(bytes: Uint8Array): { readonly raw: ShardFile; readonly zip?: ShardFile }[] | string {
  const about = objectIn(bytes);
  if (about === undefined) return 'it is not a JSON object';
  const { version, shards } = about;
  if (version !== 2 || !Array.isArray(shards)) return 'it is not an index of version 2';
  try {
    return shards.map((shard: unknown) => {
      const fields = fieldsOf(shard);
      const columns = columnsOf(fields);
      if (typeof columns === 'string') throw new Error(columns);
      const about = { samples: countOf(fields['samples'], MOST_SAMPLES), columns };
      const { compression, zip_data: zip } = fields;
      const name = typeof compression === 'string' ? compression : undefined;
      return {
        raw: fileOf(fields['raw_data'], { ...about, compression: undefined }),
        ...(name !== undefined && zip !== null && { zip: fileOf(zip, { ...about, compression: name }) }),
      };
    });
  } catch (error) {
    return `invalid shard: ${(error as Error).message}`;
  }
}

function fileOf(value: unknown, about: Omit<IndexedShard, 'bytes' | 'hashes'>): ShardFile {
  const { basename, bytes, hashes } = fieldsOf(value);
  if (typeof basename !== 'string') throw new Error('it has no name');
  const known = Object.entries(fieldsOf(hashes)).filter((entry): entry is [string, string] => {
    return typeof entry[1] === 'string';
  });
  return { name: basename, shard: { ...about, bytes: countOf(bytes), hashes: Object.fromEntries(known) } };
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function countOf(value: unknown, most = Number.MAX_SAFE_INTEGER): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= most)
    return value as number;
  throw new Error('invalid number');
}
