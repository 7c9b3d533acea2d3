import { loadChecksum } from '@tiered/core/internal';
import { createHash, getHashes } from 'node:crypto';
import type { RecordTable } from '../contract/format.js';
import type { IndexedShard } from './source-index.js';

/** What is known of a compressed shard before it is read. */
export interface WholeShard {
  readonly samples: number;
  readonly hashes: Readonly<Record<string, string>>;
}

const [XXH64, HEX_DIGITS] = ['xxh64', 16];
/** What no header of columns begins with. */
const START = '{"whole":';

/** The table of a compressed shard, by its index: one record, which is not read for that. */
export function wholeTable({ bytes, samples, hashes }: IndexedShard): RecordTable {
  const whole: WholeShard = { samples, hashes };
  const length = samples > 0 ? [bytes] : [];
  return {
    offsets: new Float64Array(length.length),
    lengths: Float64Array.from(length),
    samples: Uint32Array.from(length, () => samples),
    header: new TextEncoder().encode(JSON.stringify({ whole })),
  };
}

/** What headers say, which are parsed once. Those of other tables say nothing. */
const known = new WeakMap<Uint8Array, WholeShard | 'none'>();

/** What `wholeTable` put into the header of a table; undefined for the header of another one. */
export function wholeIn(header: Uint8Array | undefined): WholeShard | undefined {
  if (header === undefined) return undefined;
  const whole = known.get(header) ?? parsed(header);
  known.set(header, whole);
  return whole === 'none' ? undefined : whole;
}

function parsed(header: Uint8Array): WholeShard | 'none' {
  const text = new TextDecoder().decode(header);
  return text.startsWith(START) ? (JSON.parse(text) as { readonly whole: WholeShard }).whole : 'none';
}

/**
 * Compares the first hash of an algorithm that is known: XXH64, or one of OpenSSL by the name that Python has
 * for it.
 * @returns What is wrong, as a clause; undefined if it is right, or none is known.
 */
export async function hashProblem(bytes: Uint8Array, { hashes }: WholeShard): Promise<string | undefined> {
  for (const [name, expected] of Object.entries(hashes)) {
    const found = await hashOf(name, bytes);
    if (found === undefined) continue;
    return found === expected ? undefined : `its ${name} is ${found}, and index.json says ${expected}`;
  }
  return undefined;
}

async function hashOf(name: string, bytes: Uint8Array): Promise<string | undefined> {
  if (name === XXH64) return (await loadChecksum()).bytes(bytes).toString(16).padStart(HEX_DIGITS, '0');
  const known = name.replaceAll('_', '-');
  return getHashes().includes(known) ? createHash(known).update(bytes).digest('hex') : undefined;
}
