// @ts-check
import { Buffer } from 'node:buffer';
import { IS_KEY, IS_ROW } from './copy-rows.js';
import { letLeave } from './leaving.js';
import { STATES } from './schema.js';
import { finish, holds, refOf, segmentOf } from './segment-rows.js';

/**
 * How copies come into the index. Each of these is a part of a transaction.
 *
 * @typedef {import('./index-file.js').IndexFile} IndexFile
 * @typedef {import('../../tier/copy-rows.js').ClaimRow} ClaimRow
 * @typedef {import('../../tier/copy-rows.js').CopyRef} CopyRef
 */

/**
 * Returns the tags of those that are refused.
 *
 * @param {IndexFile} file
 * @param {string} member
 * @param {Pick<import('../index-messages.js').Batch, 'claims' | 'directoryBytes'>} batch
 */
export function claimAll(file, member, { claims, directoryBytes }) {
  if (claims.length === 0) return [];
  const refused = [];
  let granted = -directoriesOf(file) * directoryBytes;
  for (const row of claims) {
    if (claim(file, member, row)) granted += row.occupied;
    else refused.push(row.tag);
  }
  granted += directoriesOf(file) * directoryBytes;
  // Bytes leased for them are in the copies from now on; bytes of refused claims are leased still.
  if (granted > 0) file.run('UPDATE members SET leased = max(0, leased - ?) WHERE id = ?', [granted, member]);
  return refused;
}

/** @param {IndexFile} file */
function directoriesOf(file) {
  return Number(file.one('SELECT directories FROM meta')['directories']);
}

/**
 * @param {IndexFile} file
 * @param {string} member
 * @param {ClaimRow} row
 */
function claim(file, member, { key, dataset, tag, version, size, bytes, occupied }) {
  const { changes } = file.run(
    `INSERT INTO copies (key, dataset, tag, version, size, bytes, occupied, chunk, state, member)
       SELECT ?, ?, ?, ?, ?, ?, ?, 0, ${STATES.claimed}, ? WHERE NOT EXISTS (SELECT 1 FROM copies
         WHERE ${IS_KEY} AND dataset = ? AND version = ? AND state <= ${STATES.placed})`,
    [key, dataset, tag, version, size, bytes, occupied, member, key, dataset, version],
  );
  return changes > 0;
}

/**
 * @param {IndexFile} file
 * @param {string} member
 * @param {import('../../tier/copy-rows.js').PlacedRow} placed
 */
export function place(file, member, { key, dataset, tag, chunk, sums }) {
  const { changes } = file.run(
    `UPDATE copies SET state = ${STATES.placed}, chunk = ?, sums = ?, member = NULL
       WHERE ${IS_ROW} AND state = ${STATES.claimed} AND member = ?`,
    [chunk, Buffer.from(sums), key, dataset, tag, member],
  );
  return changes > 0;
}

/**
 * Records a copy in a segment that this member fills.
 *
 * @param {IndexFile} file
 * @param {string} member
 * @param {import('../../tier/copy-rows.js').PackedRow} packed
 */
export function pack(file, member, { key, dataset, tag, version, size, bytes, chunk, sums }) {
  const { changes } = file.run(
    `INSERT INTO copies (key, dataset, tag, version, size, bytes, occupied, chunk, sums, state)
       SELECT ?, ?, ?, ?, ?, ?, 0, ?, ?, ${STATES.placed} WHERE EXISTS (SELECT 1 FROM copies
         WHERE ${IS_ROW} AND state = ${STATES.claimed} AND member = ?)
       AND NOT EXISTS (SELECT 1 FROM copies
         WHERE ${IS_KEY} AND dataset = ? AND version = ? AND state <= ${STATES.placed})`,
    [
      ...[key, dataset, tag, version, size, bytes, chunk, Buffer.from(sums)],
      ...[...refOf(segmentOf(tag)), member],
      ...[key, dataset, version],
    ],
  );
  return changes > 0;
}

/**
 * Records a copy in a segment that this member fills, and that it is in another one no more: there is one at
 * every moment.
 *
 * @param {IndexFile} file
 * @param {string} member
 * @param {import('../../tier/copy-rows.js').MovedRow} moved
 */
export function move(file, member, moved) {
  const old = [moved.key, moved.dataset, moved.from];
  file.run('UPDATE meta SET seq = seq + 1');
  const { changes } = file.run(
    `UPDATE copies SET state = ${STATES.left}, member = ?, seq = (SELECT seq FROM meta)
       WHERE ${IS_ROW} AND state = ${STATES.placed}`,
    [member, ...old],
  );
  if (changes === 0) return false;
  if (pack(file, member, moved)) return true;
  file.run(`UPDATE copies SET state = ${STATES.placed}, member = NULL WHERE ${IS_ROW}`, old);
  return false;
}

/**
 * Nothing more comes into a segment. Says whether anything is in it; one with nothing leaves.
 *
 * @param {IndexFile} file
 * @param {string} member
 * @param {CopyRef} segment
 */
export function seal(file, member, segment) {
  if (holds(file, segment.tag)) {
    finish(file, segment.tag);
    return true;
  }
  letLeave(file, member, [segment]);
  return false;
}
