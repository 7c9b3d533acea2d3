import { crc32c } from '@node-rs/crc32';

const LENGTH = 8;
/** Bytes before the data of a record: its length as u64le, and the masked CRC of those 8 bytes. */
export const HEADER = LENGTH + 4;
/** The masked CRC of the data, behind it. */
export const FOOTER = 4;

/** Writes header and footer around data that lies in the shard already. */
export function writeFrame(shard: Uint8Array, view: DataView, at: number, length: number): void {
  view.setBigUint64(at, BigInt(length), true);
  view.setUint32(at + LENGTH, maskedCrc(shard.subarray(at, at + LENGTH)), true);
  const end = at + HEADER + length;
  view.setUint32(end, maskedCrc(shard.subarray(at + HEADER, end)), true);
}

/**
 * The bytes of data of the record at the start of `bytes`, once it is certain that all of the record is
 * there.
 * @param left Bytes there are from this start on, of which `bytes` may be only the first.
 * @returns The length, or what is wrong.
 */
export function dataLength(bytes: Uint8Array, left: number): number | string {
  const there = Math.min(left, bytes.byteLength);
  if (there < HEADER) return `its header is cut off: ${there} of ${HEADER} bytes are there`;
  if (!isHeader(bytes)) return 'the checksum of its length is wrong';
  const view = viewOf(bytes);
  const length = view.getUint32(4, true) * 2 ** 32 + view.getUint32(0, true);
  if (!Number.isSafeInteger(length)) return `invalid length: ${length} bytes`;
  const rest = left - HEADER;
  if (rest >= length + FOOTER) return length;
  return `it is cut off: ${rest} of ${length + FOOTER} bytes of data and checksum are there`;
}

/** Whether bytes start with a length and its checksum. */
export function isHeader(bytes: Uint8Array): boolean {
  return (
    bytes.byteLength >= HEADER &&
    maskedCrc(bytes.subarray(0, LENGTH)) === viewOf(bytes).getUint32(LENGTH, true)
  );
}

/** What is wrong with the data of the record at the start of `bytes`, which is all there. */
export function dataProblem(bytes: Uint8Array, length: number): string | undefined {
  const end = HEADER + length;
  if (maskedCrc(bytes.subarray(HEADER, end)) === viewOf(bytes).getUint32(end, true)) return undefined;
  return `the checksum of its ${length} bytes of data is wrong`;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/**
 * CRC-32C as TFRecord stores it: rotated and shifted, so that the CRC of data that holds its own CRC stays
 * useful.
 */
function maskedCrc(data: Uint8Array): number {
  const crc = crc32c(data);
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}
