import { segmentOf, tagOf } from '@tiered/core/internal';
import fs from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { rowsOf } from './index-of.js';
import { tierOf, type Place } from './place.js';

/**
 * Nobody uses the tier: its index is whole, its sums are those of its copies, and it names exactly what is on
 * the disk; with `mayMiss`, at least that.
 */
export function expectSoundIndex(place: Place, { mayMiss = false } = {}): void {
  // By one process: to start one takes longer than to answer.
  const [integrity, meta, sums, copies, packed, counted] = rowsOf(
    place,
    'PRAGMA integrity_check',
    'SELECT copies, occupied, claimed FROM meta',
    `SELECT count(*) FILTER (WHERE state = 1) AS copies, coalesce(sum(occupied), 0) AS occupied,
      coalesce(sum(occupied) FILTER (WHERE state = 0), 0) AS claimed FROM copies`,
    'SELECT tag, state FROM copies WHERE tag >= 0',
    'SELECT tag, state FROM copies WHERE tag < 0',
    'SELECT directories FROM meta',
  );
  expect(integrity).toEqual([{ integrity_check: 'ok' }]);
  expect(meta).toEqual(sums);
  // A segment has a file, and what is in it has none.
  const segments = new Set((copies ?? []).map(({ tag }) => Number(tag)));
  for (const { tag, state } of packed ?? [])
    expect([state, segments.has(segmentOf(Number(tag)))]).toEqual([1, true]);
  const known = (copies ?? []).map(({ tag, state }) => `${String(tag)} ${String(state)}`);
  const root = tierOf(place);
  const entries = fs
    .readdirSync(root, { recursive: true, withFileTypes: true })
    .filter(({ name, parentPath }) => !path.join(parentPath, name).includes('.tiered'));
  const directories = entries.filter((entry) => entry.isDirectory()).length;
  if (mayMiss) expect(counted?.[0]?.['directories']).toBeGreaterThanOrEqual(directories);
  else expect(counted).toEqual([{ directories }]);
  const files = entries.filter((file) => file.isFile()).map(({ name }) => `${tagOf(name)} 1`);
  if (mayMiss) expect(known).toEqual(expect.arrayContaining(files));
  else expect(files.sort()).toEqual(known.sort());
  expect(fs.readdirSync(path.join(root, '.tiered', 'tmp'))).toEqual([]);
}
