import { isTieredError, parseBytes, type ByteSize, type TieredError } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import { constants } from 'node:buffer';
import zlib from 'node:zlib';
import {
  damaged,
  type IndexOptions,
  type RawRecord,
  type RecordTable,
  type SampleFormat,
} from '../contract/format.js';
import { codecNamed, codecOf, decompress, type Codec } from './decompress.js';
import { ObjectWindow, pieces } from './object-window.js';

/** How shards are compressed. */
export interface ShardOptions<C extends Codec> {
  /**
   * How whole objects are compressed. Compressed, an object is one record with all its samples: they cannot
   * be read singly. Default: `auto`, by the first bytes of each, or by the end of its name where a way of
   * compression has no such bytes.
   */
  readonly compression?: 'none' | 'auto' | C | undefined;
  /**
   * The most bytes that one object may have when it is decompressed. A decoded object is that large in
   * memory, twice for a moment. A larger object counts as damaged. Default: 1 GiB, several times a common
   * shard; it keeps some kilobytes from becoming all memory.
   */
  readonly maxBytes?: ByteSize | undefined;
}

const COMPRESSORS = {
  none: ({ buffer, byteOffset, byteLength }: Uint8Array) => new Uint8Array(buffer, byteOffset, byteLength),
  gzip: (shard: Uint8Array): Uint8Array => zlib.gzipSync(shard),
  zlib: (shard: Uint8Array): Uint8Array => zlib.deflateSync(shard),
};

/**
 * Returns the function by which a writer compresses a shard as a whole.
 * @param known The compressions of the format.
 * @throws TieredError `TIERED_CONFIG_INVALID` for another compression.
 */
export function compressorOf<C extends keyof typeof COMPRESSORS>(
  compression: C,
  known: readonly C[],
): (shard: Uint8Array) => Uint8Array {
  if (known.includes(compression)) return COMPRESSORS[compression];
  throw configError('compression', `one of ${known.join(', ')}`, compression);
}

/** A format of shards as they are when they are not compressed. */
export interface PlainShards<S> {
  /** Bytes from the start of a shard that `isPlain` looks at. */
  readonly startBytes: number;
  /** Whether these first bytes, which may be fewer, are certainly those of a shard that is not compressed. */
  isPlain(start: Uint8Array): boolean;
  /** Finds the records of the object that the window shows. With a header for all or for none. */
  index(window: ObjectWindow, options: IndexOptions): Promise<RecordTable>;
  /** Decodes a record that has one sample. */
  decode(record: RawRecord): S;
}

/** What of `SampleFormat` depends on the compression, with the options as they apply. */
export interface Shards<S> extends Pick<SampleFormat<S>, 'index' | 'decode'> {
  readonly options: { readonly compression: string; readonly maxBytes: number };
}

/**
 * Makes a format of shards one of shards that may be compressed.
 * @param codecs Those that writers of this format use.
 * @throws TieredError `TIERED_CONFIG_INVALID` for options that cannot work.
 */
export function maybeCompressed<S, C extends Codec>(
  plain: PlainShards<S>,
  codecs: readonly C[],
  { compression = 'auto', maxBytes = '1GiB' }: ShardOptions<C>,
): Shards<S> {
  const choices = ['auto', 'none', ...codecs];
  if (!choices.includes(compression))
    throw configError('compression', `one of ${choices.join(', ')}`, compression);
  const most = parseBytes(maxBytes, 'maxBytes');
  if (most > constants.MAX_LENGTH) throw configError('maxBytes', `at most ${constants.MAX_LENGTH}`, maxBytes);
  const codecFor = (key: string, start: Uint8Array): Codec | undefined => {
    if (compression !== 'auto') return compression === 'none' ? undefined : compression;
    if (plain.isPlain(start)) return undefined;
    const codec = codecOf(start) ?? codecNamed(key);
    return codecs.find((known) => known === codec);
  };
  return {
    options: { compression, maxBytes: most },
    index: async (object, options) => {
      const window = new ObjectWindow(object, options.signal);
      const looks = compression === 'auto' && object.size > 0;
      const codec = codecFor(object.key, looks ? await window.read(0, plain.startBytes) : new Uint8Array(0));
      return codec === undefined
        ? plain.index(window, options)
        : indexWhole(plain, window, codec, most, options);
    },
    decode: (record) => {
      // Only tables of shards that are not compressed have one.
      if (record.header !== undefined) return [plain.decode(record)];
      const codec = codecFor(record.key, record.bytes.subarray(0, plain.startBytes));
      return codec === undefined ? [plain.decode(record)] : decodeWhole(plain, record, codec, most);
    },
  };
}

/** The table of a compressed object: one record with the samples that are found in it. */
async function indexWhole(
  plain: PlainShards<unknown>,
  window: ObjectWindow,
  codec: Codec,
  maxBytes: number,
  options: IndexOptions,
): Promise<RecordTable> {
  const at = { key: window.key, offset: 0 };
  const onDamage = (error: TieredError) => options.onDamage(inside(at, error));
  const bytes = await decompress(pieces(window, options), { codec, maxBytes, at });
  if (isTieredError(bytes)) {
    options.onDamage(bytes);
    return oneRecord(window, 0);
  }
  const { offsets } = await plain.index(inMemory(window.key, bytes), { ...options, onDamage });
  return oneRecord(window, offsets.length);
}

/** The whole object as one record, if there are samples in it. */
function oneRecord({ size }: ObjectWindow, samples: number): RecordTable {
  const lengths = Float64Array.from(samples > 0 ? [size] : []);
  const offsets = new Float64Array(lengths.length);
  return { offsets, lengths, samples: new Uint32Array(lengths.length).fill(samples) };
}

/** All samples of a compressed object, as `indexWhole` found them: it told of what is damaged. */
async function decodeWhole<S>(
  plain: PlainShards<S>,
  { key, offset, bytes: compressed }: RawRecord,
  codec: Codec,
  maxBytes: number,
): Promise<S[]> {
  const at = { key, offset };
  const bytes = await decompress([compressed], { codec, maxBytes, at });
  if (isTieredError(bytes)) throw bytes;
  const { offsets, lengths, header } = await plain.index(inMemory(key, bytes), { onDamage: () => undefined });
  try {
    return Array.from(offsets, (start, i) => {
      const end = start + (lengths[i] ?? 0);
      return plain.decode({ key, offset: start, bytes: bytes.subarray(start, end), header });
    });
  } catch (error) {
    throw isTieredError(error, 'TIERED_DATA_CORRUPT') ? inside(at, error) : error;
  }
}

function inMemory(key: string, bytes: Uint8Array): ObjectWindow {
  const read = (offset: number, length: number) => Promise.resolve(bytes.subarray(offset, offset + length));
  return new ObjectWindow({ key, size: bytes.byteLength, read }, undefined);
}

/** Damage of decompressed bytes, which are not where the object's are. */
function inside(at: { readonly key: string; readonly offset: number }, error: TieredError): TieredError {
  return damaged(at, 'what it holds compressed is damaged', `Decompressed: ${error.message}`, error);
}
