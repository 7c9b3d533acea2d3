// @ts-check
import { Buffer } from 'node:buffer';

/**
 * @typedef {import('../../tier/copy-rows.js').CopyRow} CopyRow
 * @typedef {import('./index-file.js').IndexFile} IndexFile
 */

/** What is told of a copy. JSON has no bytes. */
const COLUMNS = Object.freeze([
  ...['key', 'dataset', 'tag', 'version', 'size', 'bytes', 'occupied', 'chunk'],
  ...['hex(sums)', 'member', 'seq'],
]);

/** A number, whatever a damaged index has there. */
export const TAG = 'CAST(tag AS INTEGER) AS tag';

/**
 * A row is of this key. SQLite compares a bare parameter with the constant in the words of the index
 * `sparse`, and then compiles the statement again for each value that is bound, which costs eight times as
 * much as an insertion.
 */
export const IS_KEY = 'key = CAST(? AS TEXT)';

/** Which row is that of one copy, or of a segment, by key, dataset and tag. */
export const IS_ROW = `${IS_KEY} AND dataset = ? AND tag = ?`;

/**
 * Copies as they are told of.
 *
 * @param {IndexFile} file
 * @param {string} which
 * @param {readonly unknown[]} [values]
 */
export function copiesWhere(file, which, values = []) {
  return file.select(COLUMNS, `FROM copies WHERE ${which}`, values).map(rowOf);
}

/**
 * Tags of copies.
 *
 * @param {IndexFile} file
 * @param {string} which
 * @param {readonly unknown[]} [values]
 */
export function tagsWhere(file, which, values = []) {
  return file.all(`SELECT ${TAG} FROM copies WHERE ${which}`, values).map(({ tag }) => Number(tag));
}

/**
 * @param {readonly unknown[]} row
 * @returns {CopyRow}
 */
function rowOf([key, dataset, tag, version, size, bytes, occupied, chunk, sums, member, seq]) {
  return {
    key: String(key),
    dataset: Number(dataset),
    tag: Number(tag),
    version: String(version),
    size: Number(size),
    bytes: Number(bytes),
    occupied: Number(occupied),
    chunk: Number(chunk),
    // Copied: a small `Buffer` is a part of memory that others share.
    sums: Uint8Array.from(Buffer.from(String(sums), 'hex')),
    member: member === null ? undefined : String(member),
    seq: Number(seq ?? 0),
  };
}
