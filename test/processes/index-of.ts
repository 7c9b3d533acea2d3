import Database from 'libsql';
import { execFileSync } from 'node:child_process';
import { indexOf, type Place } from './place.js';

/** Rows of a query on a tier's index. */
export type All = (sql: string, ...values: readonly unknown[]) => Record<string, unknown>[];

/** Looks into the index of a tier, as another process would; waits for those who write. */
export function openIndexOf<T>(
  place: Place,
  look: (all: All, db: Database.Database) => T,
  { keep = false } = {},
): T {
  const db = new Database(indexOf(place), { timeout: 5000 });
  try {
    return look((sql, ...values) => db.prepare(sql).all(...values) as Record<string, unknown>[], db);
  } finally {
    if (!keep) db.close();
  }
}

const RUN = `const [file, ...queries] = process.argv.slice(1);
const db = new (require('libsql'))(file, { timeout: 5000 });
process.stdout.write(JSON.stringify(queries.map((sql) => db.prepare(sql).all())));`;

type Rows = Record<string, unknown>[];

/** Rows of each of some queries, by a process of its own: whatever is open of the index is closed with it. */
export function rowsOf(place: Place, ...queries: readonly string[]): Rows[] {
  const said = execFileSync(process.execPath, ['-e', RUN, indexOf(place), ...queries], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  });
  return JSON.parse(said) as Rows[];
}
