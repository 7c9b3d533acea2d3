// @ts-check
import { copiesWhere, IS_ROW, tagsWhere } from './copy-rows.js';
import { SEGMENT, STATES, UNFINISHED } from './schema.js';
import { holds, occupiedBy, refOf, segmentOf, segmentsOf } from './segment-rows.js';

/**
 * How copies go out of the index: they are leaving, then their files are gone, then nobody has them open any
 * more. Each of these is a part of a transaction.
 *
 * @typedef {import('./index-file.js').IndexFile} IndexFile
 * @typedef {import('../../tier/copy-rows.js').CopyRef} CopyRef
 */

/**
 * @param {IndexFile} file
 * @param {string} member
 * @param {readonly CopyRef[]} refs
 */
export function letLeave(file, member, refs) {
  if (refs.length === 0) return;
  file.run('UPDATE meta SET seq = seq + 1');
  for (const { key, dataset, tag } of refs) {
    file.run(
      `UPDATE copies SET state = ${STATES.leaving}, member = ?, seq = (SELECT seq FROM meta)
         WHERE ${IS_ROW} AND state <= ${STATES.leaving}`,
      [member, key, dataset, tag],
    );
  }
}

/**
 * Files are gone. They get a new number: who was told that a copy leaves may have opened its file after that,
 * and nobody can any more.
 *
 * @param {IndexFile} file
 * @param {readonly CopyRef[]} refs
 */
export function gone(file, refs) {
  if (refs.length === 0) return;
  file.run('UPDATE meta SET seq = seq + 1');
  for (const { key, dataset, tag } of refs) {
    // Copies that nobody was shown leave at once.
    file.run(`DELETE FROM copies WHERE ${IS_ROW} AND state = ${STATES.claimed}`, [key, dataset, tag]);
    file.run(
      `UPDATE copies SET state = ${STATES.left}, seq = (SELECT seq FROM meta)
         WHERE ${IS_ROW} AND state = ${STATES.leaving}`,
      [key, dataset, tag],
    );
  }
}

/**
 * Whether anything has left whose bytes were not given back.
 *
 * @param {IndexFile} file
 */
export function hasLeft(file) {
  return file.has(`copies WHERE state = ${STATES.left} AND ${UNFINISHED}`);
}

/**
 * Gives back the bytes of what has left and nobody has open any more. Segments in which nothing is any more
 * leave, and are this member's to delete.
 *
 * @param {IndexFile} file
 * @param {string} member
 */
export function purge(file, member) {
  const which = `state = ${STATES.left} AND ${UNFINISHED} AND NOT EXISTS
       (SELECT 1 FROM members WHERE id IS NOT copies.member AND seen < copies.seq)`;
  const packed = file.select(['tag', 'bytes'], `FROM copies WHERE ${which} AND +tag < 0`);
  file.run(`DELETE FROM copies WHERE ${which}`);
  for (const [tag, bytes] of packed)
    file.run(`UPDATE copies SET chunk = chunk + 2 * ? WHERE ${IS_ROW}`, [
      bytes,
      ...refOf(segmentOf(Number(tag))),
    ]);
  const emptied = segmentsOf(packed.map(([tag]) => Number(tag)))
    .filter((segment) => !holds(file, segment) && occupiedBy(file, segment) > 0)
    .map((tag) => ({ key: SEGMENT.key, dataset: SEGMENT.dataset, tag }));
  letLeave(file, member, emptied);
  return emptied;
}

/**
 * Files that dead members had begun to write or to delete are this member's to delete.
 *
 * @param {IndexFile} file
 * @param {string} member
 */
export function takeOver(file, member) {
  const unfinished = copiesWhere(
    file,
    `state IN (${STATES.claimed}, ${STATES.leaving}) AND ${UNFINISHED}
       AND NOT EXISTS (SELECT 1 FROM members WHERE id = copies.member)`,
  );
  letLeave(file, member, unfinished);
  return unfinished;
}

/**
 * Bytes of copies that were removed and not yet given back.
 *
 * @param {IndexFile} file
 */
export function leavingBytes(file) {
  const which = `state >= ${STATES.leaving} AND ${UNFINISHED}`;
  const [[bytes] = []] = file.select(['sum(occupied)'], `FROM copies WHERE ${which}`);
  const packed = tagsWhere(file, `${which} AND +tag < 0`);
  // Segments that leave as soon as all have let go of what was in them.
  const emptied = segmentsOf(packed).filter((segment) => !holds(file, segment, STATES.placed));
  return emptied.reduce((sum, segment) => sum + occupiedBy(file, segment), Number(bytes ?? 0));
}
