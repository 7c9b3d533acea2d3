import { TieredError } from '@tiered/core';
import { compressorOf } from '../reading/shards.js';
import { dataLength, dataProblem, FOOTER, HEADER, writeFrame } from './frame.js';

/** Options of `encodeRecords`. */
export interface EncodeRecordsOptions {
  /**
   * How the shard is compressed as a whole. Default: `none`. Samples of a compressed shard cannot be read
   * singly, so compress samples one by one where you can.
   */
  readonly compression?: 'none' | 'gzip' | 'zlib' | undefined;
}

/** Options of `readRecords`. */
export interface ReadRecordsOptions {
  /**
   * Whether to check the checksum of each record's data. Default: true, because bytes from a cache on a local
   * disk or from a network that went bad unnoticed would be trained on unnoticed; it costs one pass of native
   * CRC-32C over the data. The checksum of each record's length is always checked: a wrong length would make
   * bytes out of nowhere look like records.
   */
  readonly verify?: boolean | undefined;
}

/**
 * Frames one record as TFRecord: length, masked CRC-32C of the length, data, masked CRC-32C of the data.
 * Shards are such records one behind the other, with nothing before, between or after them.
 * @param data The record, which may be empty. It is copied.
 */
export function frameRecord(data: Uint8Array): Uint8Array {
  return encodeRecords([data]);
}

/**
 * Makes a whole shard in memory, with one allocation: the sum of the records' lengths plus 16 bytes for each.
 * If it is to be compressed, that happens before the call returns.
 * @param records In the order in which they will be read. They are copied once the last has come, so an
 * iterable must not reuse the memory of a record it has given.
 * @throws TieredError `TIERED_CONFIG_INVALID` for another compression.
 */
export function encodeRecords(
  records: Iterable<Uint8Array>,
  { compression = 'none' }: EncodeRecordsOptions = {},
): Uint8Array {
  const compress = compressorOf(compression, ['none', 'gzip', 'zlib']);
  const all = [...records];
  const size = all.reduce((sum, data) => sum + HEADER + data.byteLength + FOOTER, 0);
  const shard = new Uint8Array(size);
  const view = new DataView(shard.buffer);
  let at = 0;
  for (const data of all) {
    shard.set(data, at + HEADER);
    writeFrame(shard, view, at, data.byteLength);
    at += HEADER + data.byteLength + FOOTER;
  }
  return compress(shard);
}

/**
 * Reads the records of a shard in order. Lazy: a record is checked when it is reached, so those before a
 * damaged one are given first. A shard cut off exactly between two records cannot be told from a shorter one;
 * compare sizes where that matters.
 * @param bytes A whole shard, or any run of whole records. Nothing is copied: the records are views into it,
 * live as long as they are held, and change if it is changed.
 * @param options Whether to check the data too.
 * @throws TieredError `TIERED_DATA_CORRUPT` when a record is cut off, its length cannot be, or a checksum is
 * wrong; the message says where.
 */
export function* readRecords(
  bytes: Uint8Array,
  { verify = true }: ReadRecordsOptions = {},
): Generator<Uint8Array, void, undefined> {
  for (let at = 0; at < bytes.byteLength;) {
    const rest = bytes.subarray(at);
    const length = dataLength(rest, rest.byteLength);
    if (typeof length === 'string') throw corrupt(at, length);
    const problem = verify ? dataProblem(rest, length) : undefined;
    if (problem !== undefined) throw corrupt(at, problem);
    yield rest.subarray(HEADER, HEADER + length);
    at += HEADER + length + FOOTER;
  }
}

function corrupt(offset: number, problem: string): TieredError {
  return new TieredError(
    'TIERED_DATA_CORRUPT',
    `TFRecord at byte ${offset}: ${problem}. Write or fetch the shard again, and check that it is an uncompressed TFRecord file.`,
  );
}
