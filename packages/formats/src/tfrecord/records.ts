import { crc32c } from '@node-rs/crc32';
import { TieredError } from '@tiered/core';

/** Bytes before the data of a record: its length as u64le, and the masked CRC of those 8 bytes. */
const HEADER = 12;
const LENGTH = 8;
/** The masked CRC of the data, behind it. */
const FOOTER = 4;

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
 * @param records In the order in which they will be read. They are copied once the last has come, so an
 * iterable must not reuse the memory of a record it has given.
 */
export function encodeRecords(records: Iterable<Uint8Array>): Uint8Array {
  const all = [...records];
  const size = all.reduce((sum, data) => sum + HEADER + data.byteLength + FOOTER, 0);
  const shard = new Uint8Array(size);
  const view = new DataView(shard.buffer);
  let at = 0;
  for (const data of all) {
    view.setBigUint64(at, BigInt(data.byteLength), true);
    view.setUint32(at + LENGTH, maskedCrc(shard.subarray(at, at + LENGTH)), true);
    shard.set(data, at + HEADER);
    view.setUint32(at + HEADER + data.byteLength, maskedCrc(data), true);
    at += HEADER + data.byteLength + FOOTER;
  }
  return shard;
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
  options: ReadRecordsOptions = {},
): Generator<Uint8Array, void, undefined> {
  const verify = options.verify ?? true;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  while (at < bytes.byteLength) {
    const start = at + HEADER;
    const end = start + readLength(bytes, view, at);
    const data = bytes.subarray(start, end);
    if (verify && maskedCrc(data) !== view.getUint32(end, true)) {
      throw corrupt(at, `the checksum of its ${data.byteLength} bytes of data is wrong`);
    }
    yield data;
    at = end + FOOTER;
  }
}

/** The length of the record at `at`, once it is certain that the whole record is there. */
function readLength(bytes: Uint8Array, view: DataView, at: number): number {
  const left = bytes.byteLength - at;
  if (left < HEADER) throw corrupt(at, `its header is cut off: ${left} of ${HEADER} bytes are there`);
  if (maskedCrc(bytes.subarray(at, at + LENGTH)) !== view.getUint32(at + LENGTH, true)) {
    throw corrupt(at, 'the checksum of its length is wrong');
  }
  const low = view.getUint32(at, true);
  const length = view.getUint32(at + 4, true) * 2 ** 32 + low;
  if (!Number.isSafeInteger(length)) throw corrupt(at, `its length cannot be: ${length} bytes`);
  const there = left - HEADER;
  if (there < length + FOOTER) {
    throw corrupt(at, `it is cut off: ${there} of ${length + FOOTER} bytes of data and checksum are there`);
  }
  return length;
}

/**
 * CRC-32C as TFRecord stores it: rotated and shifted, so that the CRC of data that holds its own CRC stays
 * useful.
 */
function maskedCrc(data: Uint8Array): number {
  const crc = crc32c(data);
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}

function corrupt(offset: number, problem: string): TieredError {
  return new TieredError(
    'TIERED_DATA_CORRUPT',
    `TFRecord at byte ${offset}: ${problem}. Write or fetch the shard again, and check that it is an uncompressed TFRecord file.`,
  );
}
