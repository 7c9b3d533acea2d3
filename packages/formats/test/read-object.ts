import { Hierarchy, isTieredError, MemoryDriver, type TieredError } from '@tiered/core';
import {
  formatOf,
  openSamples,
  type ObjectReader,
  type OpenSamplesOptions,
  type RecordTable,
  type SampleFormat,
  type SampleSet,
} from '@tiered/formats';
import { onTestFinished } from 'vitest';
import { inSharedMemory } from './bytes.js';

/** A range that was read. */
interface ReadRange {
  readonly offset: number;
  readonly length: number;
}

/** An object in memory, and what was read of it. */
interface MemoryObject extends ObjectReader {
  readonly reads: readonly ReadRange[];
}

/**
 * Makes an object of bytes. Its reads are those of pread, and of ranges within the object only: a format that
 * asks for others fails its test.
 */
export function memoryObject(bytes: Uint8Array, key = 'object'): MemoryObject {
  const reads: ReadRange[] = [];
  return {
    key,
    size: bytes.byteLength,
    reads,
    read: async (offset, length) => {
      const whole = Number.isInteger(offset) && Number.isInteger(length);
      if (!whole || offset < 0 || length < 0 || offset > bytes.byteLength) {
        throw new Error(`read(${offset}, ${length}) of an object of ${bytes.byteLength} bytes`);
      }
      if (reads.length > 2 * bytes.byteLength + 16) throw new Error('It reads without end.');
      reads.push({ offset, length });
      return bytes.subarray(offset, offset + length);
    },
  };
}

/** What a format finds in an object. */
export interface ObjectContent<S> {
  readonly table: RecordTable;
  /** The samples of all records that can be decoded. */
  readonly samples: readonly S[];
  /** What the index told of. */
  readonly damage: readonly TieredError[];
  /** What decoding threw. */
  readonly refused: readonly TieredError[];
  readonly reads: readonly ReadRange[];
}

/**
 * Finds the records of an object in memory that threads share, and decodes each by a format that was made
 * again from name and options. Damage is gathered. Fails for errors that are not `TIERED_DATA_CORRUPT` of
 * this object, and for a table that breaks the contract.
 */
export async function readObject<S>(
  format: SampleFormat<S>,
  bytes: Uint8Array,
  key = 'object',
): Promise<ObjectContent<S>> {
  const memory = inSharedMemory(bytes);
  const object = memoryObject(memory, key);
  const damage: TieredError[] = [];
  const refused: TieredError[] = [];
  const table = await format.index(object, { onDamage: (error) => damage.push(asDamage(error, key)) });
  checkTable(table, bytes.byteLength);
  const again = await madeAgain(format);
  const samples: S[] = [];
  for (const [i, offset] of table.offsets.entries()) {
    const record = { key, offset, bytes: memory.subarray(offset, offset + (table.lengths[i] ?? 0)) };
    try {
      const decoded = await again.decode({ ...record, header: table.header });
      const expected = table.samples?.[i] ?? 1;
      if (decoded.length !== expected) {
        throw new Error(`Record ${i} has ${decoded.length} samples, and the table says ${expected}.`);
      }
      samples.push(...decoded);
    } catch (error) {
      refused.push(asDamage(error, key));
    }
  }
  return { table, samples, damage, refused, reads: object.reads };
}

/** As `readObject`, for an object that has no damage. */
export async function samplesOf<S>(
  format: SampleFormat<S>,
  bytes: Uint8Array,
  key?: string,
): Promise<readonly S[]> {
  const { samples, damage, refused } = await readObject(format, bytes, key);
  for (const error of [...damage, ...refused]) throw error;
  return samples;
}

/** The format as another thread makes it. */
async function madeAgain<S>({ name, options }: SampleFormat<S>): Promise<SampleFormat<S>> {
  return (await formatOf(name, JSON.parse(JSON.stringify(options)) as typeof options)) as SampleFormat<S>;
}

/** The error, if it is one that damaged bytes may give. Anything else is a crash, and fails the test. */
function asDamage(error: unknown, key: string): TieredError {
  if (!isTieredError(error, 'TIERED_DATA_CORRUPT')) throw error;
  if (error.key !== key || !/^.*, byte \d+: /s.test(error.message)) {
    throw new Error('The error does not name object and byte.', { cause: error });
  }
  return error;
}

/** Records lie within the object, in rising order, and do not overlap. */
function checkTable({ offsets, lengths, samples }: RecordTable, size: number): void {
  if (lengths.length !== offsets.length || (samples ?? offsets).length !== offsets.length) {
    throw new Error('The columns of the table are of different lengths.');
  }
  let end = 0;
  for (const [i, offset] of offsets.entries()) {
    const length = lengths[i] ?? Number.NaN;
    if (!(offset >= end && length >= 0 && offset + length <= size)) {
      throw new Error(
        `Record ${i} is at ${offset} with ${length} of ${size} bytes, and the one before ends at ${end}.`,
      );
    }
    end = offset + length;
  }
}

/** The samples of objects in memory, by their keys: their bytes, or how many zeros they have. */
export async function openObjects<S>(
  objects: Readonly<Record<string, Uint8Array | number>>,
  options: OpenSamplesOptions<S>,
): Promise<SampleSet<S>> {
  const source = new MemoryDriver({ name: 'source' });
  for (const [key, content] of Object.entries(objects)) {
    const bytes = typeof content === 'number' ? new Uint8Array(content) : content;
    await source.write(key, bytes, { size: bytes.byteLength });
  }
  const hierarchy = await new Hierarchy({ source }).open();
  onTestFinished(() => hierarchy.close());
  return openSamples(hierarchy, options);
}
