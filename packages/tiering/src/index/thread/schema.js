// @ts-check

/**
 * Of this form of the index; one of another form is left alone, but for the one before, which is brought into
 * this.
 */
export const FORM = 3;

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

/** What is in a segment is found by it. */
const PACKED_INDEX = 'CREATE INDEX packed ON copies (tag) WHERE tag < 0;';

/**
 * Which segments are less than half full, in the words of the index over them; to be repeated as `UNFINISHED`
 * is.
 */
export const SPARSE = `key = '' AND chunk > bytes`;
const SPARSE_INDEX = `CREATE INDEX sparse ON copies (tag) WHERE ${SPARSE};`;

/**
 * The directory that a key is in, with a slash behind it; empty if there is none.
 *
 * @param {string} key In SQL.
 */
const directoryOf = (key) => `rtrim(${key}, replace(${key}, '/', ''))`;
const PARENT_OF_NEW = directoryOf('substr(new.path, 1, length(new.path) - 1)');
const PARENT_OF_OLD = directoryOf('substr(old.path, 1, length(old.path) - 1)');

/**
 * The directories that files of copies need, and how many files and directories each holds. A copy's row is
 * there before its directories are made, and until they are removed. So they are known whoever is killed
 * when, and whoever makes or removes them. A long key needs fewer than it has slashes: they are counted.
 */
const DIRECTORIES = `
CREATE TABLE directories (path TEXT PRIMARY KEY, holds INTEGER NOT NULL) WITHOUT ROWID;
CREATE TRIGGER directory_came AFTER INSERT ON directories BEGIN
  UPDATE meta SET directories = directories + 1;
  INSERT INTO directories (path, holds) SELECT ${PARENT_OF_NEW}, 1 WHERE ${PARENT_OF_NEW} <> ''
    ON CONFLICT (path) DO UPDATE SET holds = holds + 1;
END;
CREATE TRIGGER directory_went AFTER DELETE ON directories BEGIN
  UPDATE meta SET directories = directories - 1;
  UPDATE directories SET holds = holds - 1 WHERE path = ${PARENT_OF_OLD};
  DELETE FROM directories WHERE path = ${PARENT_OF_OLD} AND holds < 1;
END;
CREATE TRIGGER file_came AFTER INSERT ON copies WHEN new.tag >= 0 BEGIN
  INSERT INTO directories (path, holds) SELECT ${directoryOf('new.key')}, 1
    WHERE ${directoryOf('new.key')} <> '' ON CONFLICT (path) DO UPDATE SET holds = holds + 1;
END;
CREATE TRIGGER file_went AFTER DELETE ON copies WHEN old.tag >= 0 BEGIN
  UPDATE directories SET holds = holds - 1 WHERE path = ${directoryOf('old.key')};
  DELETE FROM directories WHERE path = ${directoryOf('old.key')} AND holds < 1;
END;
`;

/** Brings an index of the form before into this one. */
export const UPGRADE = `
ALTER TABLE meta RENAME COLUMN overhead TO directories;
UPDATE meta SET directories = 0;
${DIRECTORIES}
INSERT INTO directories (path, holds) SELECT ${directoryOf('key')}, count(*) FROM copies
  WHERE tag >= 0 AND ${directoryOf('key')} <> '' GROUP BY 1
  ON CONFLICT (path) DO UPDATE SET holds = holds + excluded.holds;
PRAGMA user_version = ${FORM};
`;

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
  directories INTEGER NOT NULL DEFAULT 0,
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
${DIRECTORIES}
PRAGMA user_version = ${FORM};
`;
