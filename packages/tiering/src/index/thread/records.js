// @ts-check
import { copiesWhere, IS_KEY, TAG, tagsWhere } from './copy-rows.js';
import { IndexFile } from './index-file.js';
import { inodeOf, isMarked } from './inode.js';
import { gone, hasLeft, leavingBytes, letLeave, purge, takeOver } from './leaving.js';
import { claimAll, move, pack, place, seal } from './placing.js';
import { FORM, SCHEMA, SPARSE, STATES, UNFINISHED, UPGRADE } from './schema.js';
import { keepWhole, segmentOf, tagsIn } from './segment-rows.js';
import { lease, stateOf } from './sums.js';
import { datasetsOf, surveyOf } from './survey.js';

/** @typedef {import('../index-messages.js').Calls} Calls */

/** Segments that are told of at once as less than half full. */
const SPARSE_AT_A_TIME = 64;

/**
 * What a tier's index says, and the changes of it: each method is a transaction of its own. Runs in a thread,
 * because a database waits for the disk whenever it likes.
 *
 * @implements {Calls}
 */
export class Records {
  /** @param {ConstructorParameters<typeof IndexFile>[0]} options */
  constructor(options) {
    this.file = new IndexFile(options);
  }

  /** @type {Calls['inode']} */
  inode() {
    return inodeOf(this.file.path);
  }

  /** @type {Calls['isMarked']} */
  isMarked({ inode }) {
    return isMarked(this.file.path, inode);
  }

  /** Makes what is missing. Says whether the index is new, or of another form. */
  open() {
    this.file.startLog();
    return this.file.transaction(() => {
      const form = this.file.form();
      if (form === FORM) return 'known';
      if (form === FORM - 1) {
        this.file.exec(UPGRADE);
        return 'known';
      }
      if (form !== 0) return 'foreign';
      this.file.exec(SCHEMA);
      return 'new';
    });
  }

  /** @type {Calls['survey']} */
  survey() {
    const form = this.file.form();
    if (form === 0) return undefined;
    if (form !== FORM) return 'foreign';
    return surveyOf(this.file);
  }

  /** @type {Calls['datasets']} */
  datasets() {
    return datasetsOf(this.file);
  }

  /** @type {Calls['join']} */
  join({ member, quota, dataset, place, formerly }) {
    return this.file.change(() => {
      const isReplaced = this.#rename(dataset, place, formerly);
      this.file.run(
        'INSERT INTO datasets (name) SELECT ? WHERE NOT EXISTS (SELECT 1 FROM datasets WHERE name = ?)',
        [dataset, dataset],
      );
      // Files that it left unfinished when it was taken for dead are anybody's to delete: it begins with
      // nothing.
      this.file.run(`UPDATE copies SET member = NULL WHERE member = ? AND ${UNFINISHED}`, [member]);
      this.file.run('INSERT OR REPLACE INTO members (id, quota, seen) SELECT ?, ?, seq FROM meta', [
        member,
        quota,
      ]);
      const [[id] = []] = this.file.select(['id'], 'FROM datasets WHERE name = ?', [dataset]);
      return { dataset: Number(id), isReplaced, state: stateOf(this.file, member) };
    });
  }

  /**
   * Gives a dataset that is recorded by an older name its present one.
   *
   * @param {string} dataset
   * @param {string | undefined} place
   * @param {string | undefined} formerly
   * @returns {boolean} Whether the dataset is new, and others are recorded that were at its place.
   */
  #rename(dataset, place, formerly) {
    if (place === undefined || this.file.has('datasets WHERE name = ?', [dataset])) return false;
    const atPlace = 'substr(name, 1, length(?)) = ?';
    const marked = [`${place}#`, `${place}#`];
    const areOthers = this.file.has(`datasets WHERE ${atPlace}`, marked);
    if (formerly !== undefined && !areOthers)
      this.file.run('UPDATE datasets SET name = ? WHERE name = ?', [dataset, formerly]);
    const others = `datasets WHERE (name = ? OR ${atPlace}) AND name <> ?`;
    const names = [place, ...marked, dataset];
    return (
      this.file.has(others, names) &&
      this.file.has(`copies WHERE state = ${STATES.placed} AND dataset IN (SELECT id FROM ${others})`, names)
    );
  }

  /** @type {Calls['leave']} */
  leave({ member }) {
    // However long the log is: each member leaves once, and until then the others count what it had.
    this.file.transaction(() => {
      purge(this.file, member);
      this.file.run('DELETE FROM members WHERE id = ?', [member]);
    });
  }

  /** @type {Calls['members']} */
  members() {
    return this.file.select(['id'], 'FROM members').map(([id]) => String(id));
  }

  /** @type {Calls['state']} */
  state({ member }) {
    return stateOf(this.file, member);
  }

  /** @type {Calls['changed']} */
  changed() {
    return this.file.changed();
  }

  /** @type {Calls['apply']} */
  apply(batch) {
    const { file } = this;
    const isAtPath = inodeOf(file.path) === file.inode;
    return file.change(() => {
      const { member } = batch;
      if (!file.has('members WHERE id = ?', [member]))
        return {
          isMember: false,
          isAtPath,
          refused: [],
          lost: [],
          emptied: [],
          state: stateOf(file, member),
        };
      if (batch.quota !== undefined)
        file.run('UPDATE members SET quota = ? WHERE id = ?', [batch.quota, member]);
      if (batch.seen !== undefined)
        file.run('UPDATE members SET seen = max(seen, ?) WHERE id = ?', [batch.seen, member]);
      const refused = claimAll(file, member, batch);
      const lost = [
        ...batch.placed.filter((copy) => !place(file, member, copy)),
        ...batch.packed.filter((copy) => !pack(file, member, copy)),
        ...batch.moved.filter((copy) => !move(file, member, copy)),
        ...batch.sealed.filter((segment) => !seal(file, member, segment)),
      ].map(({ tag }) => tag);
      letLeave(file, member, batch.leaving);
      gone(file, batch.gone);
      const emptied = hasLeft(file) ? purge(file, member) : [];
      lease(file, batch);
      return { isMember: true, isAtPath, refused, lost, emptied, state: stateOf(file, member) };
    });
  }

  /** @type {Calls['find']} */
  find({ dataset, key }) {
    const which = `${IS_KEY} AND dataset = ? AND state = ${STATES.placed}`;
    return copiesWhere(this.file, which, [key, dataset]);
  }

  /** @type {Calls['page']} */
  page({ dataset, others, after, limit }) {
    return copiesWhere(
      this.file,
      `(key, dataset, tag) > (?, ?, ?) AND (dataset = ?) = ?
         AND state = ${STATES.placed} ORDER BY key, dataset, tag LIMIT ?`,
      [after.key, after.dataset, after.tag, dataset, others ? 0 : 1, limit],
    );
  }

  /** @type {Calls['left']} */
  left({ after }) {
    return copiesWhere(this.file, `state >= ${STATES.leaving} AND ${UNFINISHED} AND seq > ?`, [after]);
  }

  /** @type {Calls['leavingBytes']} */
  leavingBytes() {
    return leavingBytes(this.file);
  }

  /** @type {Calls['together']} */
  together({ tag }) {
    const which = `tag < 0 AND tag BETWEEN ? AND ? AND state = ${STATES.placed}`;
    return copiesWhere(this.file, which, tagsIn(segmentOf(tag)));
  }

  /** @type {Calls['sparse']} */
  sparse() {
    return this.file
      .all(
        `SELECT ${TAG} FROM copies INDEXED BY sparse WHERE ${SPARSE} AND state = ${STATES.placed} LIMIT ?`,
        [SPARSE_AT_A_TIME],
      )
      .map(({ tag }) => Number(tag));
  }

  /** @type {Calls['inherit']} */
  inherit({ member, dead }) {
    return this.file.change(() => {
      for (const id of dead) this.file.run('DELETE FROM members WHERE id = ?', [id]);
      keepWhole(this.file);
      const unfinished = takeOver(this.file, member);
      // Nobody waits for the dead any more.
      return [...unfinished, ...purge(this.file, member)];
    });
  }

  /** Tags of every name that may be on the storage. */
  tags() {
    return Float64Array.from(tagsWhere(this.file, 'TRUE')).sort();
  }

  /** @type {Calls['unknown']} */
  unknown({ tags }) {
    const which = 'tag IN (SELECT value FROM json_each(?))';
    const known = new Set(tagsWhere(this.file, which, [JSON.stringify(tags)]));
    return tags.filter((tag) => !known.has(tag));
  }

  /** @type {Calls['swept']} */
  swept({ boot }) {
    this.file.change(() => this.file.run('UPDATE meta SET boot = ?', [boot]));
  }

  close() {
    this.file.close();
  }
}
