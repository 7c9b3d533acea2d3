import type { Column } from './columns.js';

/**
 * The bytes of each column of a sample: the lengths of those that differ in length come first, then all of
 * them one behind the other.
 * @returns Views; or what is wrong, as a clause.
 */
export function fieldsIn(bytes: Uint8Array, columns: readonly Column[]): readonly Uint8Array[] | string {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let end = 4 * columns.filter(({ size }) => size === undefined).length;
  if (end > bytes.byteLength) return 'the sample is cut off';
  let at = 0;
  const fields = columns.map(({ size }) => {
    const length = size ?? view.getUint32(at, true);
    if (size === undefined) at += 4;
    return bytes.subarray(end, (end += length));
  });
  if (end === bytes.byteLength) return fields;
  return `the columns of the sample have ${end} bytes, and it has ${bytes.byteLength}`;
}
