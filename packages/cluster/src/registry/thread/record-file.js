// @ts-check
import fs from 'node:fs';
import { TextDecoder } from 'node:util';
import Database from 'libsql';
import { prepareFile } from './trusted-path.js';

/**
 * How long a call waits for another process. Short, because a call must be waited for when the process ends:
 * the client asks again.
 */
const BUSY_MS = 20;

/**
 * One table. `put` is when a record was put, `ttl` how long it lives, both in milliseconds of the clock that
 * all processes of the machine share.
 */
const TABLE = `CREATE TABLE IF NOT EXISTS members (
  slot TEXT PRIMARY KEY, owner TEXT NOT NULL, record TEXT NOT NULL, put REAL NOT NULL, ttl REAL NOT NULL
) WITHOUT ROWID`;

/**
 * The file of an embedded registry. Any number of processes use it, and it may be damaged, replaced or
 * deleted under them: then it is begun anew, and members put their records again.
 *
 * The journal is that of rollbacks, and not a write-ahead log: that would grow as long as a process is
 * stopped while it reads, and needs memory that is shared, which not all mounts of containers have. Nothing
 * is synced, since all that is in it has expired when a machine has started anew.
 */
export class RecordFile {
  /** @param {string} path */
  constructor(path) {
    this.path = path;
    /** @type {any} */
    this.db = undefined;
    this.inode = 0n;
    this.changes = 0;
  }

  /**
   * Makes a call by its name. Once more if the file turns out to be damaged, or to be another one by now.
   *
   * @param {string} call
   * @param {any} options
   */
  make(call, options) {
    try {
      return this.attempt(call, options);
    } catch (error) {
      const { code = '' } = /** @type {{ code?: string }} */ (error);
      if (!isDamage(code) && !code.startsWith('SQLITE_READONLY_DBMOVED')) throw error;
      const damaged = this.inode;
      this.close();
      if (isDamage(code)) this.putAside(damaged);
      return this.attempt(call, options);
    }
  }

  /**
   * @param {string} call
   * @param {any} options
   */
  attempt(call, options) {
    this.reopen();
    return /** @type {any} */ (this)[call](options);
  }

  /** Nothing but what every call does first. */
  open() {}

  /** @param {{ slot: string, owner: string, record: string, now: number, ttl: number }} options */
  put({ slot, owner, record, now, ttl }) {
    return this.transaction(() => {
      this.tidy(now);
      const { changes } = this.db
        .prepare(
          `INSERT INTO members (slot, owner, record, put, ttl) VALUES (?, ?, ?, ?, ?)
           ON CONFLICT (slot) DO UPDATE SET record = excluded.record, put = excluded.put, ttl = excluded.ttl
           WHERE owner = excluded.owner`,
        )
        .run([slot, owner, record, now, ttl]);
      return Number(changes) > 0;
    });
  }

  /** @param {{ now: number }} options */
  all({ now }) {
    if (this.db.prepare('SELECT 1 FROM members WHERE put > ? LIMIT 1').all([now]).length > 0)
      this.transaction(() => this.tidy(now));
    // As bytes: at text that is not UTF-8, as a damaged file may have it, the database's binding ends the
    // process.
    const sql =
      'SELECT CAST(json_array(slot, owner, record) AS BLOB) AS row FROM members WHERE put + ttl > ?';
    return this.db
      .prepare(sql)
      .all([now])
      .map((/** @type {{ row: ArrayBuffer }} */ { row }) => parsed(row));
  }

  /** @param {{ slot: string, owner: string }} options */
  leave({ slot, owner }) {
    this.transaction(() =>
      this.db.prepare('DELETE FROM members WHERE slot = ? AND owner = ?').run([slot, owner]),
    );
  }

  /** What is another one after every change, whoever makes it. */
  version() {
    const [{ data_version: others } = { data_version: 0 }] = this.db.prepare('PRAGMA data_version').all([]);
    return `${this.inode}.${others}.${this.changes}`;
  }

  close() {
    this.db?.close();
    this.db = undefined;
  }

  /**
   * Removes what has expired. A record from the future was put before the machine started anew, as its clock
   * begins at zero then. Its time begins now.
   *
   * @param {number} now
   */
  tidy(now) {
    this.db.prepare('DELETE FROM members WHERE put + ttl <= ?').run([now]);
    this.db.prepare('UPDATE members SET put = ? WHERE put > ?').run([now, now]);
  }

  /** Opens the file that is there now; makes one where there is none. */
  reopen() {
    if (this.db !== undefined && inodeOf(this.path) === this.inode) return;
    this.close();
    prepareFile(this.path);
    this.inode = inodeOf(this.path);
    this.db = new Database(this.path, /** @type {any} */ ({ timeout: BUSY_MS }));
    try {
      this.db.exec('PRAGMA journal_mode = TRUNCATE');
      this.db.exec('PRAGMA synchronous = OFF');
      const [state] = this.db.prepare('PRAGMA quick_check(1)').all([]);
      if (state?.quick_check !== 'ok') throw failure('SQLITE_CORRUPT', 'the file is malformed');
      this.refuseOthers();
      this.transaction(() => this.db.exec(TABLE));
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** A database with other tables is somebody's. */
  refuseOthers() {
    const sql =
      "SELECT count(*) AS others FROM sqlite_schema WHERE name NOT IN ('members', 'sqlite_autoindex_members_1')";
    const [{ others } = { others: 0 }] = this.db.prepare(sql).all([]);
    if (Number(others) === 0) return;
    throw failure('TIERED_DIRECTORY_NOT_OURS', 'is the database of something else; name another file');
  }

  /**
   * Makes way for a new file. The damaged one keeps its inode, so that no new file can have it; that of
   * earlier damage goes.
   *
   * @param {bigint} damaged Only this one: another process may have begun it anew.
   */
  putAside(damaged) {
    if (inodeOf(this.path) !== damaged) return;
    fs.rmSync(`${this.path}-journal`, { force: true });
    fs.renameSync(this.path, `${this.path}.damaged`);
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
      this.changes += 1;
      return result;
    } catch (error) {
      this.rollBack();
      throw error;
    }
  }

  /** Leaves no transaction open: the next one would not begin, which looks like damage. */
  rollBack() {
    try {
      // A full disk may have ended it already.
      if (this.db.inTransaction) this.db.exec('ROLLBACK');
    } catch {
      this.close();
    }
  }
}

/** @param {string} code No database of ours refuses a statement of ours: its schema is damaged. */
function isDamage(code) {
  return ['SQLITE_CORRUPT', 'SQLITE_NOTADB', 'SQLITE_ERROR'].some((beginning) => code.startsWith(beginning));
}

/** @param {string} path */
function inodeOf(path) {
  return fs.statSync(path, { bigint: true, throwIfNoEntry: false })?.ino ?? 0n;
}

/**
 * @param {string} code
 * @param {string} message
 */
function failure(code, message) {
  return Object.assign(new Error(message), { code });
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/**
 * @param {ArrayBuffer} bytes
 * @returns {{ slot: string, owner: string, record: unknown }}
 */
function parsed(bytes) {
  try {
    const [slot, owner, record] = JSON.parse(UTF8.decode(bytes));
    return { slot, owner, record: JSON.parse(record) };
  } catch {
    throw failure('SQLITE_CORRUPT', 'a record is malformed');
  }
}
