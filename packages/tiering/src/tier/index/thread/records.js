// @ts-check
import { Buffer } from 'node:buffer';
import fs from 'node:fs';
import { TextDecoder } from 'node:util';
import Database from 'libsql';
import { inodeOf } from './inode.js';
import {
  FORM,
  PACKED_INDEX,
  PAGE_BYTES,
  SCHEMA,
  SEGMENT,
  SPARSE,
  SPARSE_INDEX,
  STATES,
  UNFINISHED,
} from './schema.js';

/**
 * @typedef {import('../index-messages.js').Calls} Calls
 * @typedef {import('../index-messages.js').IndexState} IndexState
 * @typedef {import('../index-messages.js').CopyRow} CopyRow
 * @typedef {import('../index-messages.js').CopyRef} CopyRef
 */

/**
 * Others who write are done in less; whoever is not (a process that was stopped) must not keep those that
 * look up.
 */
const BUSY_MS = 5;
/** Memory for pages of the index, in KiB. */
const CACHE_KIB = 1024;
/** Segments that are told of at once as less than half full. */
const SPARSE_AT_A_TIME = 64;

/**
 * What a tier's index says, and the changes of it: each method is a transaction of its own. Runs in a thread,
 * because a database waits for the disk whenever it likes.
 *
 * @implements {Calls}
 */
export class Records {
  /**
   * @param {object} options
   * @param {string} options.path The index's file.
   * @param {boolean} options.durable Whether a change is on the disk when its transaction has ended.
   * @param {number} options.logPages Pages of the write-ahead log at which it has to go into the index.
   */
  constructor({ path, durable, logPages }) {
    this.path = path;
    this.db = new Database(path, /** @type {any} */ ({ timeout: BUSY_MS }));
    /** @type {Map<string, any>} */
    this.statements = new Map();
    this.db.exec(`PRAGMA synchronous = ${durable ? 'FULL' : 'NORMAL'}`);
    this.db.exec(`PRAGMA cache_size = -${CACHE_KIB}`);
    this.db.exec(`PRAGMA wal_autocheckpoint = ${logPages >> 1}`);
    this.db.exec(`PRAGMA journal_size_limit = ${logPages * PAGE_BYTES}`);
    this.logBytes = logPages * PAGE_BYTES;
    this.dataVersion = 0;
    /** Of the file that is open; one that is new is there from `open` on. */
    this.inode = inodeOf(path);
    /** @type {number | undefined} */
    this.ofPage = undefined;
  }

  /** Makes what is missing. Says whether the index is new, or of another form. */
  open() {
    // Cannot be switched in a transaction; does nothing where it is so.
    this.all('PRAGMA journal_mode = WAL');
    this.inode = inodeOf(this.path);
    return this.transaction(() => {
      const form = Number(this.one('PRAGMA user_version')['user_version']);
      if (form === FORM) return 'known';
      if (form === FORM - 1) {
        this.db.exec(`${PACKED_INDEX} ${SPARSE_INDEX} PRAGMA user_version = ${FORM}`);
        return 'known';
      }
      if (form !== 0) return 'foreign';
      this.db.exec(SCHEMA);
      return 'new';
    });
  }

  /** @type {Calls['survey']} */
  survey() {
    const form = Number(this.one('PRAGMA user_version')['user_version']);
    if (form === 0) return undefined;
    if (form !== FORM && form !== FORM - 1) return 'foreign';
    // One state of all tables.
    this.db.exec('BEGIN');
    try {
      const placed = this.select(
        ['dataset', 'count(*)', 'sum(bytes)'],
        `FROM copies WHERE state = ${STATES.placed} GROUP BY dataset`,
      );
      const ofDataset = new Map(
        placed.map(([dataset, copies, bytes]) => [Number(dataset), { copies, bytes }]),
      );
      return {
        members: this.select(['id', 'quota', 'leased'], 'FROM members').map(([id, quota, leased]) => ({
          id: String(id),
          quota: Number(quota),
          leased: Number(leased),
        })),
        datasets: this.datasets().map(({ id, name }) => ({
          name,
          copies: Number(ofDataset.get(id)?.copies ?? 0),
          bytes: Number(ofDataset.get(id)?.bytes ?? 0),
        })),
        unfinished: this.select(
          ['member', 'count(*)', 'sum(occupied)'],
          `FROM copies WHERE ${UNFINISHED} GROUP BY member`,
        ).map(([member, copies, occupied]) => ({
          member: member === null ? undefined : String(member),
          copies: Number(copies),
          occupied: Number(occupied),
        })),
        state: this.stateOf(''),
      };
    } finally {
      // A disk that fails may have ended it already.
      if (this.db.inTransaction) this.db.exec('COMMIT');
    }
  }

  datasets() {
    const isNew = Number(this.one('PRAGMA user_version')['user_version']) === 0;
    const rows = isNew ? [] : this.select(['id', 'name'], 'FROM datasets');
    return rows.map(([id, name]) => ({ id: Number(id), name: String(name) }));
  }

  /** @type {Calls['join']} */
  join({ member, quota, dataset }) {
    return this.transaction(() => {
      this.run(
        'INSERT INTO datasets (name) SELECT ? WHERE NOT EXISTS (SELECT 1 FROM datasets WHERE name = ?)',
        [dataset, dataset],
      );
      // What it left unfinished when it was taken for dead is anybody's to delete: it begins with nothing.
      this.run(`UPDATE copies SET member = NULL WHERE member = ? AND ${UNFINISHED}`, [member]);
      this.run('INSERT OR REPLACE INTO members (id, quota, seen) SELECT ?, ?, seq FROM meta', [
        member,
        quota,
      ]);
      const [[id] = []] = this.select(['id'], 'FROM datasets WHERE name = ?', [dataset]);
      return { dataset: Number(id), state: this.stateOf(member) };
    });
  }

  /** @type {Calls['leave']} */
  leave({ member }) {
    this.transaction(() => {
      this.purge(member);
      this.run('DELETE FROM members WHERE id = ?', [member]);
    });
  }

  /** @type {Calls['members']} */
  members() {
    return this.select(['id'], 'FROM members').map(([id]) => String(id));
  }

  /** @type {Calls['state']} */
  state({ member }) {
    return this.stateOf(member);
  }

  /** Whether anybody else has changed anything since the last call. */
  changed() {
    const version = Number(this.one('PRAGMA data_version')['data_version']);
    const changed = version !== this.dataVersion;
    this.dataVersion = version;
    return changed;
  }

  /** @type {Calls['apply']} */
  apply(batch) {
    this.keepLogShort();
    return this.transaction(() => {
      // Another process may have written since: only one transaction may begin with a log of this length.
      if (this.isLogLong()) throw logBusy();
      const { member } = batch;
      if (!this.has('members WHERE id = ?', [member]))
        return { isMember: false, refused: [], lost: [], emptied: [], state: this.stateOf(member) };
      if (batch.quota !== undefined)
        this.run('UPDATE members SET quota = ? WHERE id = ?', [batch.quota, member]);
      if (batch.seen !== undefined)
        this.run('UPDATE members SET seen = max(seen, ?) WHERE id = ?', [batch.seen, member]);
      this.grow(member, batch.overhead);
      const refused = this.claimAll(member, batch.claims);
      const lost = [
        ...batch.placed.filter((copy) => !this.place(member, copy)),
        ...batch.packed.filter((copy) => !this.pack(member, copy)),
        ...batch.moved.filter((copy) => !this.move(member, copy)),
        ...batch.sealed.filter((segment) => !this.seal(member, segment)),
      ].map(({ tag }) => tag);
      this.letLeave(member, batch.leaving);
      this.gone(batch.gone);
      const emptied = this.hasLeft ? this.purge(member) : [];
      this.lease(batch);
      return { isMember: true, refused, lost, emptied, state: this.stateOf(member) };
    });
  }

  /** @type {Calls['find']} */
  find({ dataset, key }) {
    return this.copies(`key = ? AND dataset = ? AND state = ${STATES.placed}`, [key, dataset]);
  }

  /** @type {Calls['page']} */
  page({ dataset, others, after, limit }) {
    return this.copies(
      `(key, dataset, tag) > (?, ?, ?) AND (dataset = ?) = ?
         AND state = ${STATES.placed} ORDER BY key, dataset, tag LIMIT ?`,
      [after.key, after.dataset, after.tag, dataset, others ? 0 : 1, limit],
    );
  }

  /** @type {Calls['left']} */
  left({ after }) {
    return this.copies(`state >= ${STATES.leaving} AND ${UNFINISHED} AND seq > ?`, [after]);
  }

  /** @type {Calls['leavingBytes']} */
  leavingBytes() {
    const which = `state >= ${STATES.leaving} AND ${UNFINISHED}`;
    const [[bytes] = []] = this.select(['sum(occupied)'], `FROM copies WHERE ${which}`);
    const packed = this.tagsOf(`${which} AND +tag < 0`);
    // Segments that leave as soon as all have let go of what was in them.
    const emptied = segmentsOf(packed).filter((segment) => !this.holds(segment, STATES.placed));
    return emptied.reduce((sum, segment) => sum + this.occupiedBy(segment), Number(bytes ?? 0));
  }

  /** @type {Calls['together']} */
  together({ tag }) {
    const [first, last] = tagsIn(segmentOf(tag));
    return this.copies(`tag < 0 AND tag BETWEEN ? AND ? AND state = ${STATES.placed}`, [first, last]);
  }

  /** @type {Calls['sparse']} */
  sparse() {
    return this.all(
      `SELECT ${TAG} FROM copies INDEXED BY sparse WHERE ${SPARSE} AND state = ${STATES.placed} LIMIT ?`,
      [SPARSE_AT_A_TIME],
    ).map(({ tag }) => Number(tag));
  }

  /** @type {Calls['inherit']} */
  inherit({ member, dead }) {
    return this.transaction(() => {
      for (const id of dead) this.run('DELETE FROM members WHERE id = ?', [id]);
      this.keepWhole();
      const unfinished = this.copies(
        `state IN (${STATES.claimed}, ${STATES.leaving}) AND ${UNFINISHED}
           AND NOT EXISTS (SELECT 1 FROM members WHERE id = copies.member)`,
      );
      this.letLeave(member, unfinished);
      // Nobody waits for the dead any more.
      return [...unfinished, ...this.purge(member)];
    });
  }

  /**
   * Segments of members that are gone: copies are recorded in one only once its file is there, so one with
   * copies is whole, if not as full as it was to be.
   */
  keepWhole() {
    const claimed = this.tagsOf(
      `state = ${STATES.claimed} AND ${UNFINISHED} AND +key = ? AND +dataset = ?
         AND NOT EXISTS (SELECT 1 FROM members WHERE id = copies.member)`,
      [SEGMENT.key, SEGMENT.dataset],
    );
    for (const tag of claimed) if (this.holds(tag)) this.finish(tag);
  }

  /** Tags of every name that may be on the storage. */
  tags() {
    return Float64Array.from(this.tagsOf('TRUE')).sort();
  }

  /** @type {Calls['unknown']} */
  unknown({ tags }) {
    const known = new Set(this.tagsOf('tag IN (SELECT value FROM json_each(?))', [JSON.stringify(tags)]));
    return tags.filter((tag) => !known.has(tag));
  }

  /** @type {Calls['swept']} */
  swept({ boot, overhead, before }) {
    // What has come since it was begun to measure comes on top.
    const sum = '? + max(0, overhead - ?)';
    this.transaction(() => this.run(`UPDATE meta SET boot = ?, overhead = ${sum}`, [boot, overhead, before]));
  }

  close() {
    this.db.close();
  }

  /**
   * Takes a log that is as long as it may be into the index. SQLite lets others write meanwhile, so that
   * among many it might never come to an end: whoever finds the log too long does not make it longer.
   */
  keepLogShort() {
    if (!this.isLogLong()) return;
    if (Number(this.one('PRAGMA wal_checkpoint(TRUNCATE)')['busy']) !== 0) throw logBusy();
  }

  /**
   * Where another index is at this path by now, the log there is that of the other: nothing that is done here
   * makes it shorter.
   */
  isLogLong() {
    return this.sizeOf('-wal') > this.logBytes && inodeOf(this.path) === this.inode;
  }

  /** Bytes of a page: who made the index may have had others. */
  get pageBytes() {
    return (this.ofPage ??= Number(this.one('PRAGMA page_size')['page_size']));
  }

  /** Whether anything has left whose bytes were not given back. */
  get hasLeft() {
    return this.has(`copies WHERE state = ${STATES.left} AND ${UNFINISHED}`);
  }

  /** @param {string} suffix Of one of the files beside the index. */
  sizeOf(suffix) {
    return fs.statSync(this.path + suffix, { throwIfNoEntry: false })?.size ?? 0;
  }

  /**
   * Directories and their like came, which were leased as the copies in them were, or went.
   *
   * @param {string} member
   * @param {number} overhead
   */
  grow(member, overhead) {
    if (overhead === 0) return;
    this.run('UPDATE meta SET overhead = max(0, overhead + ?)', [overhead]);
    if (overhead > 0)
      this.run('UPDATE members SET leased = max(0, leased - ?) WHERE id = ?', [overhead, member]);
  }

  /**
   * Returns the tags of those that are refused.
   *
   * @param {string} member
   * @param {readonly import('../index-messages.js').ClaimRow[]} claims
   */
  claimAll(member, claims) {
    const refused = [];
    let granted = 0;
    for (const claim of claims) {
      if (this.claim(member, claim)) granted += claim.occupied;
      else refused.push(claim.tag);
    }
    // What was leased for them is in the copies from now on; what was refused is leased still.
    if (granted > 0)
      this.run('UPDATE members SET leased = max(0, leased - ?) WHERE id = ?', [granted, member]);
    return refused;
  }

  /**
   * @param {string} member
   * @param {import('../index-messages.js').ClaimRow} claim
   */
  claim(member, { key, dataset, tag, version, size, bytes, occupied }) {
    const { changes } = this.run(
      `INSERT INTO copies (key, dataset, tag, version, size, bytes, occupied, chunk, state, member)
         SELECT ?, ?, ?, ?, ?, ?, ?, 0, ${STATES.claimed}, ? WHERE NOT EXISTS (SELECT 1 FROM copies
           WHERE key = ? AND dataset = ? AND version = ? AND state <= ${STATES.placed})`,
      [key, dataset, tag, version, size, bytes, occupied, member, key, dataset, version],
    );
    return changes > 0;
  }

  /**
   * @param {string} member
   * @param {import('../index-messages.js').PlacedRow} placed
   */
  place(member, { key, dataset, tag, chunk, sums }) {
    const { changes } = this.run(
      `UPDATE copies SET state = ${STATES.placed}, chunk = ?, sums = ?, member = NULL
         WHERE key = ? AND dataset = ? AND tag = ? AND state = ${STATES.claimed} AND member = ?`,
      [chunk, Buffer.from(sums), key, dataset, tag, member],
    );
    return changes > 0;
  }

  /**
   * Records a copy in a segment that this member fills.
   *
   * @param {string} member
   * @param {import('../index-messages.js').PackedRow} packed
   */
  pack(member, { key, dataset, tag, version, size, bytes, chunk, sums }) {
    const { changes } = this.run(
      `INSERT INTO copies (key, dataset, tag, version, size, bytes, occupied, chunk, sums, state)
         SELECT ?, ?, ?, ?, ?, ?, 0, ?, ?, ${STATES.placed} WHERE EXISTS (SELECT 1 FROM copies
           WHERE ${IS_SEGMENT} AND state = ${STATES.claimed} AND member = ?)
         AND NOT EXISTS (SELECT 1 FROM copies
           WHERE key = ? AND dataset = ? AND version = ? AND state <= ${STATES.placed})`,
      [
        ...[key, dataset, tag, version, size, bytes, chunk, Buffer.from(sums)],
        ...[...refOf(segmentOf(tag)), member],
        ...[key, dataset, version],
      ],
    );
    return changes > 0;
  }

  /**
   * Records a copy in a segment that this member fills, and that it is in another one no more: there is one
   * at every moment.
   *
   * @param {string} member
   * @param {import('../index-messages.js').MovedRow} moved
   */
  move(member, moved) {
    const which = 'key = ? AND dataset = ? AND tag = ?';
    const old = [moved.key, moved.dataset, moved.from];
    this.run('UPDATE meta SET seq = seq + 1');
    const { changes } = this.run(
      `UPDATE copies SET state = ${STATES.left}, member = ?, seq = (SELECT seq FROM meta)
         WHERE ${which} AND state = ${STATES.placed}`,
      [member, ...old],
    );
    if (changes === 0) return false;
    if (this.pack(member, moved)) return true;
    this.run(`UPDATE copies SET state = ${STATES.placed}, member = NULL WHERE ${which}`, old);
    return false;
  }

  /**
   * Nothing more comes into a segment. Says whether anything is in it; one with nothing leaves.
   *
   * @param {string} member
   * @param {CopyRef} segment
   */
  seal(member, segment) {
    if (this.holds(segment.tag)) {
      this.finish(segment.tag);
      return true;
    }
    this.letLeave(member, [segment]);
    return false;
  }

  /** @param {number} segment All that is to be in it is. */
  finish(segment) {
    const set = `state = ${STATES.placed}, member = NULL`;
    this.run(`UPDATE copies SET ${set} WHERE ${IS_SEGMENT} AND state = ${STATES.claimed}`, refOf(segment));
  }

  /**
   * Whether copies in a segment are in a state up to this one.
   *
   * @param {number} segment
   * @param {number} [state]
   */
  holds(segment, state = STATES.left) {
    const [first, last] = tagsIn(segment);
    return this.has('copies WHERE tag < 0 AND tag BETWEEN ? AND ? AND state <= ?', [first, last, state]);
  }

  /**
   * What a segment takes that is placed; 0 if it is not.
   *
   * @param {number} segment
   */
  occupiedBy(segment) {
    const which = `FROM copies WHERE ${IS_SEGMENT} AND state = ${STATES.placed}`;
    const [[occupied] = []] = this.select(['occupied'], which, refOf(segment));
    return Number(occupied ?? 0);
  }

  /**
   * @param {string} member
   * @param {readonly CopyRef[]} refs
   */
  letLeave(member, refs) {
    if (refs.length === 0) return;
    this.run('UPDATE meta SET seq = seq + 1');
    for (const { key, dataset, tag } of refs) {
      this.run(
        `UPDATE copies SET state = ${STATES.leaving}, member = ?, seq = (SELECT seq FROM meta)
           WHERE key = ? AND dataset = ? AND tag = ? AND state <= ${STATES.leaving}`,
        [member, key, dataset, tag],
      );
    }
  }

  /**
   * Files are gone. They get a new number: who was told that a copy leaves may have opened its file after
   * that, and nobody can any more.
   *
   * @param {readonly CopyRef[]} refs
   */
  gone(refs) {
    if (refs.length === 0) return;
    this.run('UPDATE meta SET seq = seq + 1');
    const which = 'key = ? AND dataset = ? AND tag = ?';
    for (const { key, dataset, tag } of refs) {
      // What nobody was shown leaves at once.
      this.run(`DELETE FROM copies WHERE ${which} AND state = ${STATES.claimed}`, [key, dataset, tag]);
      this.run(
        `UPDATE copies SET state = ${STATES.left}, seq = (SELECT seq FROM meta)
           WHERE ${which} AND state = ${STATES.leaving}`,
        [key, dataset, tag],
      );
    }
  }

  /**
   * Gives back the bytes of what has left and nobody has open any more. Segments in which nothing is any more
   * leave, and are this member's to delete.
   *
   * @param {string} member
   */
  purge(member) {
    const which = `state = ${STATES.left} AND ${UNFINISHED} AND NOT EXISTS
         (SELECT 1 FROM members WHERE id IS NOT copies.member AND seen < copies.seq)`;
    const packed = this.select(['tag', 'bytes'], `FROM copies WHERE ${which} AND +tag < 0`);
    this.run(`DELETE FROM copies WHERE ${which}`);
    for (const [tag, bytes] of packed)
      this.run(`UPDATE copies SET chunk = chunk + 2 * ? WHERE ${IS_SEGMENT}`, [
        bytes,
        ...refOf(segmentOf(Number(tag))),
      ]);
    const emptied = segmentsOf(packed.map(([tag]) => Number(tag)))
      .filter((segment) => !this.holds(segment) && this.occupiedBy(segment) > 0)
      .map((tag) => ({ key: SEGMENT.key, dataset: SEGMENT.dataset, tag }));
    this.letLeave(member, emptied);
    return emptied;
  }

  /** @param {import('../index-messages.js').Batch} batch */
  lease({ member, wants, spare, hold }) {
    if (wants === 0 && spare === 0) return;
    if (spare > 0) this.run('UPDATE members SET leased = max(0, leased - ?) WHERE id = ?', [spare, member]);
    const { quota, occupied, overhead, leased } = this.stateOf(member);
    const free = quota - occupied - overhead - leased - hold;
    const granted = Math.max(0, Math.min(wants, free));
    this.run('UPDATE members SET leased = leased + ?, wants = ? WHERE id = ?', [
      granted,
      wants - granted,
      member,
    ]);
  }

  /**
   * @param {string} member
   * @returns {IndexState}
   */
  stateOf(member) {
    const [row = []] = this.select(STATE, 'FROM meta', [member, member]);
    const [copies, occupied, claimed, overhead, seq, boot, ...sums] = row;
    const [quota, largestQuota, leased, members, wanted, mine] = sums;
    // Not by functions of tables: each of those is compiled anew whenever it is called.
    const pages = Number(this.one('PRAGMA page_count')['page_count']) * this.pageBytes;
    const log = this.sizeOf('-wal');
    return {
      copies: Number(copies),
      occupied: Number(occupied),
      claimed: Number(claimed),
      overhead: Number(overhead),
      seq: Number(seq),
      boot: String(boot),
      quota: Number(quota),
      largestQuota: Number(largestQuota),
      leased: Number(leased),
      members: Number(members),
      wanted: Number(wanted),
      mine: mine === null ? undefined : Number(mine),
      fileBytes: pages + log + this.sizeOf('-shm'),
      logBytes: log,
    };
  }

  /**
   * @template T
   * @param {() => T} work
   * @returns {T}
   */
  transaction(work) {
    this.db.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.db.exec('COMMIT');
      return result;
    } catch (error) {
      // A full disk may have ended it already.
      if (this.db.inTransaction) this.db.exec('ROLLBACK');
      throw error;
    }
  }

  /**
   * @param {string} sql
   * @param {readonly unknown[]} [values]
   * @returns {{ readonly changes: number }}
   */
  run(sql, values = []) {
    return this.prepared(sql).run(values);
  }

  /**
   * Whether there is such a row.
   *
   * @param {string} from
   * @param {readonly unknown[]} [values]
   */
  has(from, values = []) {
    return this.all(`SELECT 1 FROM ${from} LIMIT 1`, values).length > 0;
  }

  /**
   * Copies as they are told of.
   *
   * @param {string} which
   * @param {readonly unknown[]} [values]
   */
  copies(which, values = []) {
    return this.select(COLUMNS, `FROM copies WHERE ${which}`, values).map(rowOf);
  }

  /**
   * Tags of copies.
   *
   * @param {string} which
   * @param {readonly unknown[]} [values]
   */
  tagsOf(which, values = []) {
    return this.all(`SELECT ${TAG} FROM copies WHERE ${which}`, values).map(({ tag }) => Number(tag));
  }

  /**
   * Rows as arrays, each read as JSON in bytes: at text that is not UTF-8, as a damaged index may have it,
   * the database's binding ends the process.
   *
   * @param {readonly string[]} columns What they are in SQL.
   * @param {string} from
   * @param {readonly unknown[]} [values]
   */
  select(columns, from, values = []) {
    const sql = `SELECT CAST(json_array(${columns.join(', ')}) AS BLOB) AS row ${from}`;
    return this.all(sql, values).map(({ row }) => parsed(/** @type {ArrayBuffer} */ (row)));
  }

  /**
   * For what cannot be text.
   *
   * @param {string} sql
   * @param {readonly unknown[]} [values]
   * @returns {Record<string, unknown>[]}
   */
  all(sql, values = []) {
    return this.prepared(sql).all(values);
  }

  /**
   * @param {string} sql
   * @param {readonly unknown[]} [values]
   * @returns {Record<string, unknown>}
   */
  one(sql, values = []) {
    return this.all(sql, values)[0] ?? {};
  }

  /** @param {string} sql */
  prepared(sql) {
    let statement = this.statements.get(sql);
    if (statement === undefined) this.statements.set(sql, (statement = this.db.prepare(sql)));
    return statement;
  }
}

const IS_SEGMENT = 'key = ? AND dataset = ? AND tag = ?';

/**
 * What `IS_SEGMENT` is of.
 *
 * @param {number} segment
 */
function refOf(segment) {
  return [SEGMENT.key, SEGMENT.dataset, segment];
}

/** @param {number} tag Of a copy in a segment. */
function segmentOf(tag) {
  return Math.floor((SEGMENT.firstTag - tag) / SEGMENT.units);
}

/**
 * The lowest and the highest tag of copies in a segment.
 *
 * @param {number} segment
 */
function tagsIn(segment) {
  const last = SEGMENT.firstTag - segment * SEGMENT.units;
  return [last - SEGMENT.units + 1, last];
}

/**
 * The segments of copies, each once.
 *
 * @param {readonly number[]} tags
 */
function segmentsOf(tags) {
  return [...new Set(tags.map(segmentOf))];
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/**
 * @param {ArrayBuffer} bytes
 * @returns {unknown[]}
 */
function parsed(bytes) {
  try {
    return JSON.parse(UTF8.decode(bytes));
  } catch (cause) {
    const message = 'a row is malformed';
    throw Object.assign(new Error(message, { cause }), { code: 'SQLITE_CORRUPT' });
  }
}

/** A number, whatever a damaged index has there. */
const TAG = 'CAST(tag AS INTEGER) AS tag';

/**
 * What is told of a tier as a whole. The parameters are the member that does not count in the last but one,
 * and the one that the last is of.
 */
const STATE = Object.freeze([
  ...['copies', 'occupied', 'claimed', 'overhead', 'seq', 'boot'],
  '(SELECT coalesce(min(quota), 0) FROM members)',
  '(SELECT coalesce(max(quota), 0) FROM members)',
  '(SELECT coalesce(sum(leased), 0) FROM members)',
  '(SELECT count(*) FROM members)',
  '(SELECT coalesce(sum(wants), 0) FROM members WHERE id <> ?)',
  '(SELECT leased FROM members WHERE id = ?)',
]);

/** What is told of a copy. JSON has no bytes. */
const COLUMNS = Object.freeze([
  ...['key', 'dataset', 'tag', 'version', 'size', 'bytes', 'occupied', 'chunk'],
  ...['hex(sums)', 'member', 'seq'],
]);

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

/** As SQLite says it of a database that another process writes to: it is to be tried again. */
function logBusy() {
  const message = 'others write, and the log is to become shorter first';
  return Object.assign(new Error(message), { code: 'SQLITE_BUSY' });
}
