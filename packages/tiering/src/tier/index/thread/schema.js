// @ts-check

/**
 * Of this form of the index; one of another form is left alone, but for the one before, which is brought into
 * this.
 */
export const FORM = 2;

/** Bytes of a page, as SQLite has them by itself. */
export const PAGE_BYTES = 4096;

/**
 * A copy is claimed before its file is there, then placed, then leaving, and left once its file is not there
 * any more.
 */
export const STATES = Object.freeze({ claimed: 0, placed: 1, leaving: 2, left: 3 });

/**
 * A segment, a file that holds many copies, has a row as a copy has: with this key and dataset, which no
 * object has, and its number as its tag. It stays claimed until all its copies are recorded. They have rows
 * of their own, which take no room, and tags below zero, so many of them to a segment; see `packed-tag.ts` of
 * core. Its `chunk` counts the bytes of copies that were in it and are gone, twice: SQLite takes an index
 * over rows with `2 * chunk > bytes` for no statement.
 */
export const SEGMENT = Object.freeze({ key: '', dataset: 0, firstTag: -2, units: 2 ** 18 });

/**
 * Which copies are not placed, in the words of the index over them. A statement that looks for such copies
 * has to repeat them: SQLite takes the index only then, and else looks through all copies there are.
 */
export const UNFINISHED = `state <> ${STATES.placed}`;

/** What is in a segment is found by it. An index of the form before does not have this one, nor the next. */
export const PACKED_INDEX = 'CREATE INDEX packed ON copies (tag) WHERE tag < 0;';

/**
 * Which segments are less than half full, in the words of the index over them; to be repeated as `UNFINISHED`
 * is.
 */
export const SPARSE = `key = '' AND chunk > bytes`;
export const SPARSE_INDEX = `CREATE INDEX sparse ON copies (tag) WHERE ${SPARSE};`;

/**
 * The tables of an index. `occupied` counts what a copy takes on the storage, whole blocks; sums over all
 * copies are kept by triggers, so that no statement can forget them. `seq` numbers what has left: a member
 * that has seen a number holds nothing open of what left before.
 */
export const SCHEMA = `
CREATE TABLE meta (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  copies INTEGER NOT NULL DEFAULT 0,
  occupied INTEGER NOT NULL DEFAULT 0,
  claimed INTEGER NOT NULL DEFAULT 0,
  overhead INTEGER NOT NULL DEFAULT 0,
  seq INTEGER NOT NULL DEFAULT 0,
  boot TEXT NOT NULL DEFAULT ''
);
INSERT INTO meta (one) VALUES (1);
CREATE TABLE members (
  id TEXT PRIMARY KEY,
  quota INTEGER NOT NULL,
  leased INTEGER NOT NULL DEFAULT 0,
  wants INTEGER NOT NULL DEFAULT 0,
  seen INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE datasets (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE copies (
  key TEXT NOT NULL,
  dataset INTEGER NOT NULL,
  tag INTEGER NOT NULL,
  version TEXT NOT NULL,
  size INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  occupied INTEGER NOT NULL,
  chunk INTEGER NOT NULL,
  sums BLOB,
  state INTEGER NOT NULL,
  member TEXT,
  seq INTEGER,
  PRIMARY KEY (key, dataset, tag)
) WITHOUT ROWID;
CREATE INDEX unfinished ON copies (state, seq) WHERE ${UNFINISHED};
${PACKED_INDEX}
${SPARSE_INDEX}
CREATE TRIGGER copy_came AFTER INSERT ON copies BEGIN
  UPDATE meta SET occupied = occupied + new.occupied,
    claimed = claimed + iif(new.state = 0, new.occupied, 0), copies = copies + (new.state = 1);
END;
CREATE TRIGGER copy_changed AFTER UPDATE OF state ON copies BEGIN
  UPDATE meta SET claimed = claimed + iif(new.state = 0, new.occupied, 0) - iif(old.state = 0, old.occupied, 0),
    copies = copies + (new.state = 1) - (old.state = 1);
END;
CREATE TRIGGER copy_went AFTER DELETE ON copies BEGIN
  UPDATE meta SET occupied = occupied - old.occupied,
    claimed = claimed - iif(old.state = 0, old.occupied, 0), copies = copies - (old.state = 1);
END;
PRAGMA user_version = ${FORM};
`;
