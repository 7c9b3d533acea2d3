// @ts-check
import { STATES, UNFINISHED } from './schema.js';
import { stateOf } from './sums.js';

/** @typedef {import('./index-file.js').IndexFile} IndexFile */

/**
 * What an index says to whoever only looks at it.
 *
 * @param {IndexFile} file
 * @returns {import('../index-messages.js').IndexSurvey}
 */
export function surveyOf(file) {
  return file.snapshot(() => {
    const placed = file.select(
      ['dataset', 'count(*)', 'sum(bytes)'],
      `FROM copies WHERE state = ${STATES.placed} GROUP BY dataset`,
    );
    const ofDataset = new Map(placed.map(([dataset, copies, bytes]) => [Number(dataset), { copies, bytes }]));
    return {
      members: file.select(['id', 'quota', 'leased'], 'FROM members').map(([id, quota, leased]) => ({
        id: String(id),
        quota: Number(quota),
        leased: Number(leased),
      })),
      datasets: datasetsOf(file).map(({ id, name }) => ({
        name,
        copies: Number(ofDataset.get(id)?.copies ?? 0),
        bytes: Number(ofDataset.get(id)?.bytes ?? 0),
      })),
      unfinished: file
        .select(['member', 'count(*)', 'sum(occupied)'], `FROM copies WHERE ${UNFINISHED} GROUP BY member`)
        .map(([member, copies, occupied]) => ({
          member: member === null ? undefined : String(member),
          copies: Number(copies),
          occupied: Number(occupied),
        })),
      state: stateOf(file, ''),
    };
  });
}

/**
 * The names of the sources; none if the index is empty.
 *
 * @param {IndexFile} file
 */
export function datasetsOf(file) {
  const rows = file.form() === 0 ? [] : file.select(['id', 'name'], 'FROM datasets');
  return rows.map(([id, name]) => ({ id: Number(id), name: String(name) }));
}
