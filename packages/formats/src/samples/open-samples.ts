import { TieredError, type Hierarchy, type OperationOptions } from '@tiered/core';
import { assertCounts, assertReachedOutside } from '@tiered/core/internal';
import pLimit from 'p-limit';
import { damaged, type ObjectReader, type RecordTable, type SampleFormat } from '../contract/format.js';
import { DamageLimit, type DamageOptions } from './damage-limit.js';
import { isNoSample } from './no-samples.js';
import { SampleSet } from './sample-set.js';
import { SavedIndexes, type IndexedObject } from './saved-indexes.js';
import { Tables } from './tables.js';

/** How far the indexing is. */
export interface IndexProgress {
  /** Objects whose records are known. */
  readonly objects: number;
  /** All objects. */
  readonly of: number;
}

/** Options of `openSamples`. */
export interface OpenSamplesOptions<S> extends OperationOptions, DamageOptions {
  /** How samples lie in objects. */
  readonly format: SampleFormat<S>;
  /**
   * Which objects are read, of those that may have samples. Marks of directories, hidden files, READMEs,
   * `_SUCCESS` and the like are left out in any case. Default: all.
   */
  readonly filter?: ((key: string) => boolean) | undefined;
  /**
   * A local directory that keeps indexes, so that the next start reads no object for them. It is made if it
   * is not there; it may serve many datasets. It must not be inside the source, where indexes would become
   * objects. Default: none, and every start indexes every object.
   */
  readonly indexes?: string | undefined;
  /** Objects that are indexed at the same time, at least 1. Default: 16. */
  readonly concurrency?: number | undefined;
  /** Called as objects are done. */
  readonly onProgress?: ((progress: IndexProgress) => void) | undefined;
}

/** Objects whose tables are held at a time before other work gets its turn. */
const PART = 1024;

/**
 * Finds the samples of all objects of a hierarchy. Indexes that were saved are used where the version of the
 * object is still theirs. Others are made by reading, through the hierarchy, so that what is read is placed
 * on tiers as by any read.
 * @param hierarchy A hierarchy that was opened.
 * @throws TieredError `TIERED_NOT_FOUND` if there is no object; `TIERED_DATA_CORRUPT` for damage that is not
 * skipped; `TIERED_CONFIG_INVALID` for `indexes` inside the source, whatever links and mounts lead there;
 * `TIERED_IO` if an index cannot be saved; as `Hierarchy.read`. An abort rejects with `signal.reason`;
 * indexes that were saved until then stay.
 */
export async function openSamples<S>(
  hierarchy: Hierarchy,
  options: OpenSamplesOptions<S>,
): Promise<SampleSet<S>> {
  const { indexes, concurrency = 16, onProgress, signal } = options;
  assertCounts({ concurrency });
  if (indexes !== undefined) await assertReachedOutside('indexes', hierarchy.source, indexes);
  const damage = new DamageLimit(options);
  const found = await objectsOf(hierarchy, options);
  const format = await prepared(hierarchy, options, found, damage);
  const objects = found.objects.filter(({ key }) => format.isSample?.(key) ?? true);
  const leftOut = found.leftOut + found.objects.length - objects.length;
  const saved =
    indexes === undefined || format.needsNoIndex === true ? undefined : new SavedIndexes(indexes, format);
  const indexer = new Indexer({ hierarchy, format, saved, damage, signal });
  const limit = pLimit({ concurrency, rejectOnClear: true });
  const tables: RecordTable[] = [];
  for (let at = 0; at < objects.length; at += PART) {
    signal?.throwIfAborted();
    const part = objects.slice(at, at + PART);
    tables.push(
      ...(await allOf(
        part.map((object) => limit(() => indexer.tableOf(object))),
        limit,
      )),
    );
    onProgress?.({ objects: tables.length, of: objects.length });
  }
  const whole = new Tables(
    objects.map(({ key }) => key),
    tables,
  );
  damage.check(whole.records + damage.skipped, damage.latest);
  return new SampleSet({ hierarchy, format, tables: whole, skipped: damage.skipped, leftOut });
}

/** Waits for all. If one fails, those that have not begun are left out. */
async function allOf<T>(work: readonly Promise<T>[], limit: { clearQueue(): void }): Promise<T[]> {
  try {
    return await Promise.all(work);
  } catch (error) {
    limit.clearQueue();
    await Promise.allSettled(work);
    throw error;
  }
}

/** The format for the objects that were found. */
async function prepared<S>(
  hierarchy: Hierarchy,
  { format, signal }: OpenSamplesOptions<S>,
  { objects, all }: Found,
  damage: DamageLimit,
): Promise<SampleFormat<S>> {
  if (format.prepare === undefined) return format;
  return format.prepare({
    keys: objects.map(({ key }) => key),
    all,
    read: (key) => hierarchy.read(key, { signal }),
    signal,
    onDamage: (error) => damage.add(error),
  });
}

/** The objects of a source, as far as they are read. */
interface Found {
  readonly objects: readonly IndexedObject[];
  /** Objects that are no samples. */
  readonly leftOut: number;
  /** The keys of all objects. */
  readonly all: readonly string[];
}

async function objectsOf<S>(
  hierarchy: Hierarchy,
  { format, filter, signal }: OpenSamplesOptions<S>,
): Promise<Found> {
  const objects: IndexedObject[] = [];
  const all: string[] = [];
  let leftOut = 0;
  for await (const page of hierarchy.list({ signal }))
    for (const { key, size, version } of page) {
      all.push(key);
      if (isNoSample(key, size) || format.isSample?.(key) === false) leftOut += 1;
      else if (filter === undefined || filter(key)) objects.push({ key, size, version });
    }
  if (objects.length === 0) {
    const { driver } = hierarchy.stats().source;
    const none = `${driver} has no objects for these samples`;
    const others = leftOut === 0 ? '' : ` (${leftOut} are none of ${format.name})`;
    const message = `${none}${others}; check the path, the prefix, the format and the filter.`;
    throw new TieredError('TIERED_NOT_FOUND', message, { driver });
  }
  return { objects: objects.sort((a, b) => (a.key < b.key ? -1 : 1)), leftOut, all: all.sort() };
}

interface IndexerParts<S> extends OperationOptions {
  readonly hierarchy: Hierarchy;
  readonly format: SampleFormat<S>;
  readonly saved: SavedIndexes | undefined;
  readonly damage: DamageLimit;
}

class Indexer<S> {
  readonly #parts: IndexerParts<S>;
  constructor(parts: IndexerParts<S>) {
    this.#parts = parts;
  }

  async tableOf(object: IndexedObject): Promise<RecordTable> {
    const { format, saved, damage, signal } = this.#parts;
    const known = await saved?.load(object);
    if (known !== undefined) return known;
    let isDamaged = false;
    const table = await format.index(this.#readerOf(object), {
      signal,
      onDamage: (error) => {
        damage.add(error);
        isDamaged = true;
      },
    });
    assertInside(object, table);
    // Every start must tell of skipped damage.
    if (!isDamaged) await saved?.save(object, table);
    return table;
  }

  #readerOf({ key, size }: IndexedObject): ObjectReader {
    const { hierarchy, signal } = this.#parts;
    return { key, size, read: (offset, length) => hierarchy.read(key, { offset, length, signal }) };
  }
}

/** A format may be anybody's: no record may lie outside of its object. */
function assertInside({ key, size }: IndexedObject, { offsets, lengths, samples }: RecordTable): void {
  let end = offsets.length === lengths.length && (samples ?? offsets).length === offsets.length ? 0 : NaN;
  for (let i = 0; i < offsets.length; i++) {
    const [offset = NaN, length = NaN] = [offsets[i], lengths[i]];
    // A comparison with NaN is false.
    end = offset >= end && length >= 0 && offset + length <= size ? offset + length : NaN;
  }
  if (end >= 0) return;
  const problem = 'its records do not lie within the object, one behind the other';
  throw damaged({ key, offset: 0 }, problem, "Fix the format's index().");
}
