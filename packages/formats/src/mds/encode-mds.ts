import { configError } from '@tiered/core/internal';
import { compressorOf } from '../reading/shards.js';
import { columnsJson, type Column } from './columns.js';
import { codecOf } from './encodings.js';
import type { MdsSample } from './mds.js';
import { START } from './shard-table.js';

/** Options of `encodeMds`. */
export interface EncodeMdsOptions {
  /**
   * How the shard is compressed as a whole. Default: `none`. Samples of a compressed shard cannot be read
   * singly.
   */
  readonly compression?: 'none' | 'gzip' | undefined;
}

/** Offsets have 32 bits. */
const MOST = 2 ** 32 - 1;

/**
 * Makes a whole MDS shard in memory: as large as the values, with 4 bytes for each sample and for each value
 * whose size is not fixed. The same samples give the same bytes. If it is to be compressed, that happens
 * before the call returns. The `index.json` that MosaicML Streaming needs beside shards is not made.
 * @param samples Each with all columns; values as `mds` gives them.
 * @param columns The encoding of each column by its name: `bytes`, `jpeg`, `png`, `str`, `json`, `int`,
 * `int8` to `int64`, `uint8` to `uint64`, `float16` to `float64`, `ndarray`, `ndarray:DTYPE` or
 * `ndarray:DTYPE:SHAPE`.
 * @throws TieredError `TIERED_CONFIG_INVALID` for other encodings, for values that the encoding of their
 * column does not have, for more than 4 GiB, and for another compression.
 */
export function encodeMds(
  samples: Iterable<MdsSample>,
  columns: Readonly<Record<string, string>>,
  { compression = 'none' }: EncodeMdsOptions = {},
): Uint8Array {
  const compress = compressorOf(compression, ['none', 'gzip']);
  const all = Object.entries(columns)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, encoding]) => ({ name, encoding, codec: codecOf(encoding), size: codecOf(encoding)?.size }));
  const other = all.find(({ codec }) => codec?.encode === undefined);
  if (other !== undefined)
    throw configError(`columns.${other.name}`, 'an encoding of encodeMds', other.encoding);
  const encoded = Array.from(samples, (sample, i) => sampleBytes(sample, all, i));
  const json = columnsJson(all);
  const offsets = new DataView(new ArrayBuffer(START + 4 * encoded.length));
  offsets.setUint32(0, encoded.length, true);
  let end = offsets.byteLength + json.byteLength;
  for (const [i, { byteLength }] of [new Uint8Array(), ...encoded].entries()) {
    end += byteLength;
    if (end > MOST) throw configError('samples', `at most ${MOST} bytes in one shard`, end);
    offsets.setUint32(4 * (i + 1), end, true);
  }
  return compress(Buffer.concat([new Uint8Array(offsets.buffer), json, ...encoded]));
}

function sampleBytes(sample: MdsSample, columns: readonly Column[], number: number): Uint8Array {
  const values = columns.map(({ name, encoding, codec }) => {
    const value = Object.hasOwn(sample, name) ? sample[name] : undefined;
    try {
      return codec?.encode?.(value) ?? new Uint8Array();
    } catch (error) {
      throw configError(`samples[${number}].${name}`, `${encoding} (${(error as Error).message})`, value);
    }
  });
  const lengths = columns.flatMap(({ size }, i) => (size === undefined ? [values[i]?.byteLength ?? 0] : []));
  const head = Buffer.alloc(4 * lengths.length);
  for (const [i, length] of lengths.entries()) head.writeUInt32LE(length, 4 * i);
  return Buffer.concat([head, ...values]);
}
