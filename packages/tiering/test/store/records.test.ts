import { packedTag, SEGMENT_UNITS } from '@tiered/core/internal';
import fc from 'fast-check';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Records } from '../../src/index/thread/records.js';
import { batchOf } from './batches.js';
import { SEGMENT } from '../../src/index/thread/schema.js';
import type { Batch } from '../../src/index/index-messages.js';
import type { ClaimRow } from '../../src/tier/copy-rows.js';

const QUOTA = 100;

let directory: string;
let opened: Records[];

beforeEach(() => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-records-'));
  opened = [];
});

afterEach(() => {
  for (const records of opened) records.close();
  fs.rmSync(directory, { recursive: true, force: true });
});

function open(name = 'index.db'): Records {
  const records = new Records({ path: path.join(directory, name), durable: false, logPages: 8 });
  opened.push(records);
  records.open();
  return records;
}

const claimOf = (tag: number, occupied: number): ClaimRow => ({
  key: `key ${tag}`,
  dataset: 1,
  tag,
  version: 'v',
  size: occupied,
  bytes: occupied,
  occupied,
});

const segmentOf = (tag: number) => ({ key: '', dataset: 0, tag });

const packedRow = (segment: number, offset: number, member = 'v') => ({
  key: `key ${offset}`,
  dataset: 1,
  tag: packedTag(segment, offset),
  version: member,
  size: 16,
  bytes: 16,
  chunk: 16,
  sums: new Uint8Array(8),
});

/** Claims a segment and records copies in it, at these offsets; seals it unless that is left to others. */
function fillSegment(
  records: Records,
  member: string,
  segment: number,
  offsets: readonly number[],
  isSealed = true,
): ReturnType<Records['apply']> {
  records.apply(batchOf(member, { wants: 32 }));
  const claim = { ...claimOf(segment, 32), ...segmentOf(segment), version: String(segment) };
  records.apply(batchOf(member, { claims: [claim] }));
  const packed = offsets.map((offset) => packedRow(segment, offset));
  return records.apply(batchOf(member, { packed, sealed: isSealed ? [segmentOf(segment)] : [] }));
}

const placedOf = (claim: ClaimRow) => ({ ...claim, chunk: 1, sums: new Uint8Array(8) });

/** What a test does to an index, as one of three members. */
type Step =
  | { readonly do: 'lease' | 'claim'; readonly member: number; readonly bytes: number }
  | {
      readonly do: 'place' | 'remove' | 'gone' | 'look' | 'die';
      readonly member: number;
      readonly pick: number;
    };

const member = fc.nat({ max: 2 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constantFrom('lease', 'claim'), member, bytes: fc.integer({ min: 1, max: 40 }) }),
  fc.record({ do: fc.constantFrom('place', 'remove', 'gone', 'look', 'die'), member, pick: fc.nat() }),
);

/** What the index must say: written without a database. */
class Model {
  readonly copies = new Map<
    number,
    { row: ClaimRow; state: 'claimed' | 'placed' | 'leaving' | 'left'; by: number; waits: Set<number> }
  >();
  readonly leased = [0, 0, 0];

  get occupied(): number {
    return [...this.copies.values()].reduce((sum, { row }) => sum + row.occupied, 0);
  }

  /** Those that the keys of copies name. */
  get directories(): number {
    const above = [...this.copies.values()].flatMap(({ row: { key } }) => {
      const names = key.split('/').slice(0, -1);
      return names.map((_, depth) => names.slice(0, depth + 1).join('/'));
    });
    return new Set(above).size;
  }

  get free(): number {
    return (
      QUOTA - this.occupied - this.directories * DIRECTORY - this.leased.reduce((sum, one) => sum + one, 0)
    );
  }

  of(state: string, by?: number) {
    return [...this.copies.values()].filter(
      (one) => one.state === state && (by === undefined || one.by === by),
    );
  }

  /** Copies go whose files are gone, and that nobody may have open. */
  purge(): void {
    for (const { row, waits } of this.of('left')) if (waits.size === 0) this.copies.delete(row.tag);
  }
}

/** Bytes of a directory. */
const DIRECTORY = 3;

const apply = (records: Records, member: string, changes: Partial<Batch>) =>
  records.apply(batchOf(member, { directoryBytes: DIRECTORY, ...changes }));

const nameOf = (number: number) => `member ${number}`;

function take(records: Records, model: Model, step: Step, tag: number): void {
  const { member: number } = step;
  const me = nameOf(number);
  const pickOf = <T>(all: readonly T[], pick: number): T | undefined => all[pick % Math.max(1, all.length)];
  switch (step.do) {
    case 'lease': {
      apply(records, me, { wants: step.bytes });
      model.purge();
      model.leased[number] = (model.leased[number] ?? 0) + Math.max(0, Math.min(step.bytes, model.free));
      break;
    }
    case 'claim': {
      const key = ['', `a${tag % 2}/`, `a${tag % 2}/b${tag % 3}/`][tag % 5] ?? `a${tag % 2}//`;
      const most = (model.leased[number] ?? 0) - (key.split('/').length - 1) * DIRECTORY;
      if (most < 0) return;
      const row = { ...claimOf(tag, Math.min(step.bytes, most)), key: `${key}${tag}` };
      const before = model.directories;
      apply(records, me, { claims: [row] });
      model.copies.set(tag, { row, state: 'claimed', by: number, waits: new Set() });
      const taken = row.occupied + (model.directories - before) * DIRECTORY;
      model.leased[number] = (model.leased[number] ?? 0) - taken;
      break;
    }
    case 'place': {
      const picked = pickOf(model.of('claimed', number), step.pick);
      if (picked === undefined) return;
      apply(records, me, { placed: [placedOf(picked.row)] });
      picked.state = 'placed';
      break;
    }
    case 'remove': {
      const picked = pickOf(model.of('placed'), step.pick);
      if (picked === undefined) return;
      apply(records, me, { leaving: [picked.row] });
      picked.state = 'leaving';
      picked.by = number;
      break;
    }
    case 'gone': {
      const picked = pickOf(model.of('leaving', number), step.pick);
      if (picked === undefined) return;
      apply(records, me, { gone: [picked.row] });
      picked.state = 'left';
      picked.waits = new Set([0, 1, 2].filter((other) => other !== number));
      break;
    }
    case 'look': {
      const { seq } = records.state({ member: me });
      const left = records.left({ after: 0 }).map(({ tag }) => tag);
      expect(left.sort()).toEqual(
        [...model.of('leaving'), ...model.of('left')].map(({ row }) => row.tag).sort(),
      );
      apply(records, me, { seen: seq });
      for (const { waits } of model.of('left')) waits.delete(number);
      break;
    }
    case 'die': {
      // Another one clears up, and the member begins anew.
      const heir = (number + 1) % 3;
      const unfinished = records.inherit({ member: nameOf(heir), dead: [me] });
      const expected = [...model.of('claimed', number), ...model.of('leaving', number)];
      expect(unfinished.map(({ tag }) => tag).sort()).toEqual(expected.map(({ row }) => row.tag).sort());
      for (const copy of expected) Object.assign(copy, { state: 'leaving', by: heir });
      model.leased[number] = 0;
      for (const { waits } of model.copies.values()) waits.delete(number);
      records.join({ member: me, quota: QUOTA, dataset: 'data' });
      for (const { by, waits } of model.of('left')) if (by !== number) waits.delete(number);
    }
  }
  model.purge();
}

describe('the records of an index', () => {
  it('[Q1] [T3] [T4] are those of a model: leases never exceed the quota, and bytes come back when no other member may have them open', () => {
    let runs = 0;
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const records = open(`index-${runs++}.db`);
        const model = new Model();
        for (const number of [0, 1, 2])
          records.join({ member: nameOf(number), quota: QUOTA, dataset: 'data' });
        for (const [tag, one] of steps.entries()) {
          take(records, model, one, tag);
          const { occupied, leased, claimed, copies, directories } = records.state({ member: nameOf(0) });
          expect({ occupied, leased, claimed, copies, directories }).toEqual({
            occupied: model.occupied,
            leased: model.leased.reduce((sum, bytes) => sum + bytes, 0),
            claimed: model.of('claimed').reduce((sum, { row }) => sum + row.occupied, 0),
            copies: model.of('placed').length,
            directories: model.directories,
          });
          expect(occupied + leased + directories * DIRECTORY).toBeLessThanOrEqual(QUOTA);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('[Q1] directories are taken out of what was leased for them, each once, and given back with the last copy below', () => {
    const records = open();
    records.join({ member: 'a', quota: QUOTA, dataset: 'data' });
    apply(records, 'a', { wants: 100 });
    const below = (key: string, tag: number) => ({ ...claimOf(tag, 10), key });
    const claims = [below('a/b/1', 1), below('a/b/2', 2), below('c', 3)];
    const { state } = apply(records, 'a', { claims });
    expect({ leased: state.leased, directories: state.directories }).toEqual({ leased: 64, directories: 2 });
    expect(apply(records, 'a', { gone: claims.slice(0, 1) }).state.directories).toBe(2);
    expect(apply(records, 'a', { gone: claims }).state.directories).toBe(0);
  });

  it('[T3] a member that was taken for dead, and joins again, leaves nothing claimed for ever', () => {
    const records = open();
    records.join({ member: 'a', quota: QUOTA, dataset: 'data' });
    records.apply(batchOf('a', { wants: 50 }));
    records.apply(batchOf('a', { claims: [claimOf(1, 10)] }));
    records.join({ member: 'a', quota: QUOTA, dataset: 'data' });
    expect(records.inherit({ member: 'a', dead: [] }).map(({ tag }) => tag)).toEqual([1]);
  });

  it('[Q1] of several who have found the log short enough at the same time only one makes it longer', () => {
    const first = open();
    /** Its process is not given the core after it has looked at the log. */
    const late = open();
    first.join({ member: 'first', quota: QUOTA, dataset: 'data' });
    late.join({ member: 'late', quota: QUOTA, dataset: 'data' });
    const keepLogShort = late.file.keepLogShort.bind(late.file);
    late.file.keepLogShort = () => {
      keepLogShort();
      const claims = Array.from({ length: 900 }, (_, tag) => claimOf(tag, 1));
      first.apply(batchOf('first', { claims }));
    };
    expect(() => late.apply(batchOf('late', { claims: [claimOf(1000, 1)] }))).toThrow(
      expect.objectContaining({ code: 'SQLITE_BUSY' }),
    );
    const { copies, claimed, logBytes } = first.state({ member: 'first' });
    expect({ copies, claimed }).toEqual({ copies: 0, claimed: 900 });
    expect(logBytes).toBeGreaterThan(8 * 4096);
  });

  it('[Q1] the smallest and the largest quota of all members are told', () => {
    const records = open();
    for (const [member, quota] of Object.entries({ a: 300, b: 100, c: 200 }))
      records.join({ member, quota, dataset: 'data' });
    expect(records.state({ member: 'c' })).toMatchObject({ quota: 100, largestQuota: 300 });
    records.leave({ member: 'a' });
    expect(records.state({ member: 'c' })).toMatchObject({ quota: 100, largestQuota: 200 });
  });

  it('the log of another index, which was begun at the same path, keeps nobody from writing', () => {
    const records = open();
    records.join({ member: 'a', quota: QUOTA, dataset: 'set' });
    for (const file of fs.readdirSync(directory)) fs.rmSync(path.join(directory, file));
    const other = open();
    other.join({ member: 'b', quota: QUOTA, dataset: 'set' });
    fs.truncateSync(path.join(directory, 'index.db-wal'), 2 ** 20);
    expect(records.apply(batchOf('a')).isMember).toBe(true);
  });

  it('[Q1] the write-ahead log stays short among several who write', () => {
    const [a, b] = [open(), open()];
    a.join({ member: 'a', quota: 1e9, dataset: 'data' });
    b.join({ member: 'b', quota: 1e9, dataset: 'data' });
    for (let tag = 0; tag < 300; tag++) {
      a.apply(batchOf('a', { claims: [claimOf(tag, 1)] }));
      b.apply(batchOf('b', { claims: [claimOf(1000 + tag, 1)] }));
      expect(a.state({ member: 'a' }).logBytes).toBeLessThanOrEqual(2 * 8 * 4096);
    }
  });
});

it('no change and no look-up goes through all copies, however many there are; only a sweep does', () => {
  const records = open();
  const { dataset } = records.join({ member: 'a', quota: QUOTA, dataset: 'source' });
  const [placed, released] = [claimOf(1, 10), claimOf(2, 10)];
  records.apply(batchOf('a', { wants: 50 }));
  records.apply(batchOf('a', { claims: [placed, released], seen: 0, quota: QUOTA, directoryBytes: 1 }));
  records.apply(batchOf('a', { placed: [placedOf(placed)], gone: [released], spare: 1 }));
  records.apply(batchOf('a', { leaving: [placed], gone: [placed] }));
  fillSegment(records, 'a', 1, [0, 16]);
  records.together({ tag: packedTag(1, 0) });
  records.leavingBytes(undefined);
  for (const at of [0, 16])
    records.apply(batchOf('a', { leaving: [packedRow(1, at)], gone: [packedRow(1, at)] }));
  records.state({ member: 'a' });
  records.members(undefined);
  records.find({ dataset, key: placed.key });
  records.page({ dataset, others: false, after: { key: '', dataset: 0, tag: -1 }, limit: 10 });
  records.left({ after: 0 });
  records.inherit({ member: 'a', dead: ['b'] });
  records.leave({ member: 'a' });
  const plans = [...records.file.statements.keys()]
    .filter((sql) => !sql.startsWith('PRAGMA'))
    .map(
      (sql) =>
        [sql, records.file.all(`EXPLAIN QUERY PLAN ${sql}`).map(({ detail }) => String(detail))] as const,
    );
  expect(plans.length).toBeGreaterThan(15);
  expect(plans.filter(([, steps]) => steps.some((step) => step === 'SCAN copies'))).toEqual([]);
});

describe('the statements of an index', () => {
  it('are compiled once, whatever values are bound', () => {
    const records = open();
    records.join({ member: 'a', quota: 1000, dataset: 'd' });
    for (const segment of [1, 2]) fillSegment(records, 'a', segment, [1, 2, 3]);
    const claims = [10, 11, 12].map((tag) => claimOf(tag, 1));
    records.apply(batchOf('a', { wants: 3 }));
    records.apply(batchOf('a', { claims }));
    records.apply(batchOf('a', { placed: claims.map(placedOf) }));
    const found = claims.flatMap(({ key }) => records.find({ dataset: 1, key }));
    expect(found).toHaveLength(3);
    for (const claim of claims) {
      records.apply(batchOf('a', { leaving: [claim] }));
      records.apply(batchOf('a', { gone: [claim] }));
    }
    // SQLite compiles a PRAGMA anew for each run.
    const again = "SELECT sql, reprep FROM sqlite_stmt WHERE reprep > 0 AND sql NOT LIKE 'PRAGMA%'";
    expect(records.file.all(again)).toEqual([]);
  });
});

describe('segments', () => {
  const joined = (...members: string[]) => {
    const records = open();
    for (const member of members) records.join({ member, quota: QUOTA, dataset: 'data' });
    return records;
  };
  const sums = (records: Records) => {
    const { occupied, claimed, copies } = records.state({ member: 'a' });
    return { occupied, claimed, copies };
  };

  it('have as many units here as in tags', () => {
    expect(SEGMENT.units).toBe(SEGMENT_UNITS);
    expect(packedTag(0, 0)).toBe(SEGMENT.firstTag);
  });

  it('[Q1] take their room until nothing is in them and nobody has anything of them open', () => {
    const records = joined('a', 'b');
    expect(fillSegment(records, 'a', 5, [0, 16])).toMatchObject({ lost: [], emptied: [] });
    expect(sums(records)).toEqual({ occupied: 32, claimed: 0, copies: 3 });
    const remove = (offset: number) =>
      records.apply(batchOf('a', { leaving: [packedRow(5, offset)], gone: [packedRow(5, offset)] }));
    expect(remove(0).emptied).toEqual([]);
    expect(records.leavingBytes(undefined)).toBe(0);
    const { state, emptied } = remove(16);
    expect(emptied).toEqual([]);
    expect([sums(records).occupied, records.leavingBytes(undefined)]).toEqual([32, 32]);
    // Both copies left, and the other one says that it has let go of them: the segment is its to delete.
    expect(records.apply(batchOf('b', { seen: state.seq })).emptied).toEqual([segmentOf(5)]);
    expect(records.left({ after: state.seq }).map(({ tag }) => tag)).toEqual([5]);
    const gone = records.apply(batchOf('b', { gone: [segmentOf(5)] }));
    expect(sums(records).occupied).toBe(32);
    records.apply(batchOf('a', { seen: gone.state.seq }));
    expect(sums(records)).toEqual({ occupied: 0, claimed: 0, copies: 0 });
  });

  it('[T4] of a member that is gone stay if copies were recorded in them, and are for its heir to delete else', () => {
    const records = joined('a', 'b');
    fillSegment(records, 'a', 5, [0], false);
    fillSegment(records, 'a', 6, [], false);
    expect(sums(records)).toEqual({ occupied: 64, claimed: 64, copies: 1 });
    expect(records.inherit({ member: 'b', dead: ['a'] }).map(({ tag }) => tag)).toEqual([6]);
    expect(sums(records)).toEqual({ occupied: 64, claimed: 0, copies: 2 });
    records.apply(batchOf('b', { gone: [segmentOf(6)] }));
    expect(sums(records)).toEqual({ occupied: 32, claimed: 0, copies: 2 });
  });

  it('[T3] take no copy that another one has, and none of who does not fill them', () => {
    const records = joined('a', 'b');
    fillSegment(records, 'a', 5, [0]);
    const { lost } = fillSegment(records, 'b', 6, [0]);
    // Refused, so that nothing is in the segment either.
    expect(lost).toEqual([packedTag(6, 0), 6]);
    fillSegment(records, 'b', 7, [16], false);
    expect(records.apply(batchOf('a', { packed: [packedRow(7, 32)] })).lost).toEqual([packedTag(7, 32)]);
  });

  it('are sealed as often as it is said, and emptied ones leave', () => {
    const records = joined('a');
    fillSegment(records, 'a', 5, [0]);
    expect(records.apply(batchOf('a', { sealed: [segmentOf(5)] })).lost).toEqual([]);
    const { emptied } = records.apply(batchOf('a', { leaving: [packedRow(5, 0)], gone: [packedRow(5, 0)] }));
    expect(emptied).toEqual([segmentOf(5)]);
    expect(records.apply(batchOf('a', { sealed: [segmentOf(5)] })).lost).toEqual([5]);
    records.apply(batchOf('a', { gone: [segmentOf(5)] }));
    expect(sums(records)).toEqual({ occupied: 0, claimed: 0, copies: 0 });
  });

  it('[T1] an index of the form before is brought into this one, with all that is in it', () => {
    const records = joined('a');
    records.apply(batchOf('a', { wants: 50 }));
    const claims = ['a/b/1', 'a/2', '3'].map((key, i) => ({ ...claimOf(i + 1, 10), key }));
    records.apply(batchOf('a', { claims }));
    records.apply(batchOf('a', { placed: claims.map(placedOf) }));
    records.file.exec(`DROP TRIGGER file_came; DROP TRIGGER file_went; DROP TABLE directories;
      ALTER TABLE meta RENAME COLUMN directories TO overhead; PRAGMA user_version = 2;`);
    const later = new Records({ path: path.join(directory, 'index.db'), durable: false, logPages: 8 });
    opened.push(later);
    expect(later.open()).toBe('known');
    later.join({ member: 'b', quota: QUOTA, dataset: 'data' });
    expect(later.find({ dataset: 1, key: 'a/2' })).toHaveLength(1);
    expect(later.state({ member: 'b' }).directories).toBe(2);
    later.leave({ member: 'a' });
    expect(later.apply(batchOf('b', { leaving: claims, gone: claims })).state.directories).toBe(0);
    fillSegment(later, 'b', 5, [0]);
    expect(later.together({ tag: packedTag(5, 0) })).toHaveLength(1);
    expect(later.open()).toBe('known');
  });
});
