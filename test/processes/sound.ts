import { tagOf } from '@tiered/core/internal';
import Database from 'libsql';
import fs from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { indexOf, tierOf, type Place } from './place.js';

/** Nobody uses the tier: its index is whole, its sums are those of its copies, and it names exactly what is on the disk. */
export function expectSoundIndex(place: Place): void {
  const db = new Database(indexOf(place));
  const all = (sql: string) => db.prepare(sql).all() as Record<string, unknown>[];
  expect(all('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
  const [meta] = all('SELECT copies, occupied, claimed FROM meta');
  const [sums] =
    all(`SELECT count(*) FILTER (WHERE state = 1) AS copies, coalesce(sum(occupied), 0) AS occupied,
    coalesce(sum(occupied) FILTER (WHERE state = 0), 0) AS claimed FROM copies`);
  expect(meta).toEqual(sums);
  const known = all('SELECT tag, state FROM copies').map(
    ({ tag, state }) => `${String(tag)} ${String(state)}`,
  );
  db.close();
  const root = tierOf(place);
  const files = fs
    .readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile() && !file.parentPath.includes('.tiered'))
    .map(({ name }) => `${tagOf(name)} 1`);
  expect(files.sort()).toEqual(known.sort());
  expect(fs.readdirSync(path.join(root, '.tiered', 'tmp'))).toEqual([]);
}
