// @ts-check
import { IS_ROW, tagsWhere } from './copy-rows.js';
import { SEGMENT, STATES, UNFINISHED } from './schema.js';

/** @typedef {import('./index-file.js').IndexFile} IndexFile */

/**
 * What `IS_ROW` is of.
 *
 * @param {number} segment
 */
export function refOf(segment) {
  return [SEGMENT.key, SEGMENT.dataset, segment];
}

/** @param {number} tag Of a copy in a segment. */
export function segmentOf(tag) {
  return Math.floor((SEGMENT.firstTag - tag) / SEGMENT.units);
}

/**
 * The segments of copies, each once.
 *
 * @param {readonly number[]} tags
 */
export function segmentsOf(tags) {
  return [...new Set(tags.map(segmentOf))];
}

/**
 * The lowest and the highest tag of copies in a segment.
 *
 * @param {number} segment
 */
export function tagsIn(segment) {
  const last = SEGMENT.firstTag - segment * SEGMENT.units;
  return [last - SEGMENT.units + 1, last];
}

/**
 * Whether copies in a segment are in a state up to this one.
 *
 * @param {IndexFile} file
 * @param {number} segment
 * @param {number} [state]
 */
export function holds(file, segment, state = STATES.left) {
  const [first, last] = tagsIn(segment);
  return file.has('copies WHERE tag < 0 AND tag BETWEEN ? AND ? AND state <= ?', [first, last, state]);
}

/**
 * What a segment takes that is placed; 0 if it is not.
 *
 * @param {IndexFile} file
 * @param {number} segment
 */
export function occupiedBy(file, segment) {
  const which = `FROM copies WHERE ${IS_ROW} AND state = ${STATES.placed}`;
  const [[occupied] = []] = file.select(['occupied'], which, refOf(segment));
  return Number(occupied ?? 0);
}

/**
 * @param {IndexFile} file
 * @param {number} segment All that is to be in it is.
 */
export function finish(file, segment) {
  const set = `state = ${STATES.placed}, member = NULL`;
  file.run(`UPDATE copies SET ${set} WHERE ${IS_ROW} AND state = ${STATES.claimed}`, refOf(segment));
}

/**
 * Segments of members that are gone: copies are recorded in one only once its file is there, so one with
 * copies is whole, if not as full as it was to be.
 *
 * @param {IndexFile} file
 */
export function keepWhole(file) {
  const claimed = tagsWhere(
    file,
    `state = ${STATES.claimed} AND ${UNFINISHED} AND +key = ? AND +dataset = ?
       AND NOT EXISTS (SELECT 1 FROM members WHERE id = copies.member)`,
    [SEGMENT.key, SEGMENT.dataset],
  );
  for (const tag of claimed) if (holds(file, tag)) finish(file, tag);
}
