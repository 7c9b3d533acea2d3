import type { SampleContext } from '@tiered/loader';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { threadId } from 'node:worker_threads';
import { grouped } from '../formats.js';

export { stack } from '@tiered/loader';

/** A sample with random numbers, and who made it. */
export function drawn(bytes: Uint8Array, { random, sample, epoch, part, key }: SampleContext) {
  return { bytes: bytes.slice(), drawn: random.uint32(), sample, epoch, part, key, threadId };
}

/** A part of larger memory, and memory of its own. */
export function partOfMemory(bytes: Uint8Array) {
  const large = new Uint8Array(1000).fill(7);
  large.set(bytes, 500);
  return { part: large.subarray(500, 508), own: Float32Array.from(bytes), node: Buffer.from(bytes) };
}

const CONSTANT = Float32Array.of(1, 2, 3);

/** What a transform may keep: a table, or padding. */
export function constant(): Float32Array {
  return CONSTANT;
}

let batches = 0;
const COUNTED = new Int32Array(1);

/** Counts batches in memory that it keeps. */
export function counts(): { readonly counted: Int32Array } {
  COUNTED[0] = batches += 1;
  return { counted: COUNTED };
}

/** Views on the record, in forms that are not lists. */
export function inOtherForms(bytes: Uint8Array): { map: Map<string, Uint8Array>; view: DataView } {
  return {
    map: new Map([['bytes', bytes]]),
    view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  };
}

export function numbers(bytes: Uint8Array): Float32Array {
  return Float32Array.from(bytes);
}

export function failsAt7(bytes: Uint8Array, { sample }: SampleContext): Uint8Array {
  if (sample === 7) throw new RangeError('seven');
  return bytes.slice();
}

export async function failsAt7Later(bytes: Uint8Array, context: SampleContext): Promise<Uint8Array> {
  await Promise.resolve();
  return failsAt7(bytes, context);
}

export function exitsAt7(bytes: Uint8Array, { sample }: SampleContext): Uint8Array {
  if (sample === 7) process.exit(3);
  return bytes.slice();
}

/** Ends its thread outside of any call, in the middle of a batch. */
export function throwsOutsideAt7(bytes: Uint8Array, { sample }: SampleContext): Promise<Uint8Array> {
  if (sample !== 7) return Promise.resolve(bytes.slice());
  queueMicrotask(() => {
    throw new Error('outside of any call');
  });
  return neverEnds();
}

/** Ends as many threads as the environment says, one after the other. */
export function endsSome(bytes: Uint8Array, context: SampleContext): Uint8Array | Promise<Uint8Array> {
  if (context.sample !== 7) return bytes.slice();
  const [directory, ends] = JSON.parse(process.env['TIERED_TEST_ENDS'] ?? '') as [string, number];
  for (let i = 0; i < ends; i++) {
    try {
      writeFileSync(path.join(directory, String(i)), '', { flag: 'wx' });
    } catch {
      continue;
    }
    return throwsOutsideAt7(bytes, context);
  }
  return bytes.slice();
}

/** Works on its sample, as native code does, until somebody writes `go` into a directory. */
export function worksUntilGo(bytes: Uint8Array): Uint8Array {
  const { TIERED_TEST_GO: directory = '' } = process.env;
  writeFileSync(path.join(directory, 'begun'), '');
  const go = path.join(directory, 'go');
  while (!existsSync(go));
  writeFileSync(path.join(directory, 'done'), '');
  return bytes.slice();
}

export function neverEnds(): Promise<never> {
  return new Promise(() => undefined);
}

export function refuses(): never {
  throw new Error('a batch that is refused');
}

export function makeGrouped({ each }: { readonly each: number }) {
  return grouped(each);
}

/** Samples in memory of their own, as formats make them that decompress. */
export function makeOwning({ each }: { readonly each: number }) {
  const format = grouped(each);
  const decode: typeof format.decode = ({ bytes }) =>
    Array.from({ length: bytes.byteLength / 8 }, (_, i) => bytes.slice(i * 8, (i + 1) * 8));
  return { ...format, decode };
}

export default function first(bytes: Uint8Array): number {
  return bytes[7] ?? -1;
}
