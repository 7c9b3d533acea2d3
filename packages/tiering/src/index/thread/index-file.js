// @ts-check
import fs from 'node:fs';
import path from 'node:path';
import { TextDecoder } from 'node:util';
import Database from 'libsql';
import { inodeOf } from './inode.js';
import { PAGE_BYTES } from './schema.js';

/**
 * Others who write are done in less; whoever is not (a process that was stopped) must not keep those that
 * look up.
 */
const BUSY_MS = 5;
/** Memory for pages of the index, in KiB. */
const CACHE_KIB = 1024;

/**
 * The file of an index: transactions, statements, each of which is prepared once, and the length of the
 * log. Knows nothing of what the tables say.
 */
export class IndexFile {
  /**
   * @param {object} options
   * @param {string} options.path The index's file.
   * @param {boolean} options.durable Whether a change is on the disk when its transaction has ended.
   * @param {number} options.logPages Pages of the write-ahead log at which it has to go into the index.
   */
  constructor({ path, durable, logPages }) {
    this.path = path;
    this.synchronous = durable ? 'FULL' : 'NORMAL';
    this.logPages = logPages;
    this.logBytes = logPages * PAGE_BYTES;
    /** @type {any} */
    this.opened = undefined;
    /** @type {Map<string, any>} */
    this.statements = new Map();
    this.dataVersion = 0;
    /** Of the file that is open; one that is new is there from `startLog` on. */
    this.inode = 0n;
    /** @type {number | undefined} */
    this.ofPage = undefined;
  }

  /** Opened when it is first used: before, it is asked which file is there. */
  get db() {
    return (this.opened ??= this.open());
  }

  open() {
    const db = new Database(this.path, /** @type {any} */ ({ timeout: BUSY_MS }));
    db.exec(`PRAGMA synchronous = ${this.synchronous}`);
    // A directory that comes or goes may be the first or the last of the one above.
    db.exec('PRAGMA recursive_triggers = ON');
    db.exec(`PRAGMA cache_size = -${CACHE_KIB}`);
    db.exec(`PRAGMA wal_autocheckpoint = ${this.logPages >> 1}`);
    db.exec(`PRAGMA journal_size_limit = ${this.logBytes}`);
    this.inode = inodeOf(this.path);
    return db;
  }

  /** Has changes go into a log first. Cannot be done in a transaction; does nothing where it is so. */
  startLog() {
    this.all('PRAGMA journal_mode = WAL');
    this.inode = inodeOf(this.path);
  }

  /** Which form of tables it has; 0 if none. */
  form() {
    return Number(this.one('PRAGMA user_version')['user_version']);
  }

  /** Whether anybody else has changed anything since the last call. */
  changed() {
    const version = Number(this.one('PRAGMA data_version')['data_version']);
    const changed = version !== this.dataVersion;
    this.dataVersion = version;
    return changed;
  }

  close() {
    this.opened?.close();
  }

  /**
   * Takes a log that is as long as it may be into the index. SQLite lets others write meanwhile, so that
   * among many it might never come to an end: whoever finds the log too long does not make it longer.
   */
  keepLogShort() {
    if (!this.isLogLong()) return;
    if (Number(this.one('PRAGMA wal_checkpoint(TRUNCATE)')['busy']) !== 0) throw logBusy();
  }

  /** Another process may have written since: only one transaction may begin with a log of this length. */
  refuseLongLog() {
    if (this.isLogLong()) throw logBusy();
  }

  /**
   * If another index is at this path by now, the log there is that of the other: nothing that is done here
   * makes it shorter.
   */
  isLogLong() {
    return this.sizeOf('-wal') > this.logBytes && inodeOf(this.path) === this.inode;
  }

  /** Bytes of its own files, and of the log, which is one of them; and what the storage has left. */
  size() {
    // Not by functions of tables: each of those is compiled anew whenever it is called.
    const pages = Number(this.one('PRAGMA page_count')['page_count']) * this.pageBytes;
    const log = this.sizeOf('-wal');
    return { fileBytes: pages + log + this.sizeOf('-shm'), logBytes: log, freeBytes: this.freeBytes() };
  }

  /**
   * Bytes that the storage has left for this user.
   *
   * @returns {number | undefined}
   */
  freeBytes() {
    try {
      const { bavail, bsize } = fs.statfsSync(path.dirname(this.path));
      return bavail * bsize;
    } catch {
      return undefined;
    }
  }

  /** Bytes of a page: who made the index may have had others. */
  get pageBytes() {
    return (this.ofPage ??= Number(this.one('PRAGMA page_size')['page_size']));
  }

  /** @param {string} suffix Of one of the files beside the index. */
  sizeOf(suffix) {
    return fs.statSync(this.path + suffix, { throwIfNoEntry: false })?.size ?? 0;
  }

  /**
   * A transaction that is made only while the log is as short as it has to be. All take this way that may be
   * made again and again, whoever keeps the log from being shortened meanwhile.
   *
   * @template T
   * @param {() => T} work
   * @returns {T}
   */
  change(work) {
    this.keepLogShort();
    return this.transaction(() => {
      this.refuseLongLog();
      return work();
    });
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
   * Has all that `look` reads be of one state.
   *
   * @template T
   * @param {() => T} look
   * @returns {T}
   */
  snapshot(look) {
    this.db.exec('BEGIN');
    try {
      return look();
    } finally {
      // A disk that fails may have ended it already.
      if (this.db.inTransaction) this.db.exec('COMMIT');
    }
  }

  /** @param {string} sql Statements that are used once. */
  exec(sql) {
    this.db.exec(sql);
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

/** As SQLite says it of a database that another process writes to: it is to be tried again. */
function logBusy() {
  const message = 'others write, and the log is to become shorter first';
  return Object.assign(new Error(message), { code: 'SQLITE_BUSY' });
}
