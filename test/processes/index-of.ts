import Database from 'libsql';
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
