import { packedTag, segmentOf } from '@tiered/core/internal';
import fc from 'fast-check';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Records } from '../../src/index/thread/records.js';
import { batchOf } from './batches.js';
import type { Batch } from '../../src/index/index-messages.js';

const MEMBERS = [0, 1, 2];
const UNIT = 16;
const COPIES = 4;
const BYTES = COPIES * UNIT;
const QUOTA = 1000 * BYTES;

let directory: string;
let opened: Records[];

beforeEach(() => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-moves-'));
  opened = [];
});

afterEach(() => {
  for (const records of opened) records.close();
  fs.rmSync(directory, { recursive: true, force: true });
});

const nameOf = (member: number) => `member ${member}`;

const fileOf = (segment: number) => ({ key: '', dataset: 0, tag: segment });
const rowOf = (key: string, tag: number) => ({
  ...{ key, dataset: 1, tag, version: 'v', size: UNIT, bytes: UNIT, chunk: UNIT },
  sums: new Uint8Array(8),
});

/** A copy that is placed, or left and not let go of by all. */
interface Packed {
  readonly key: string;
  readonly tag: number;
  isPlaced: boolean;
  readonly waits: Set<number>;
}

/** What the index must say of segments: written without a database. */
class Model {
  copies: Packed[] = [];
  /** Segments, with who is to delete each once nothing is in it. */
  readonly segments = new Map<number, { waits: Set<number>; isGone: boolean; dead: number }>();

  placed(): Packed[] {
    return this.copies.filter(({ isPlaced }) => isPlaced);
  }

  leave(copy: Packed, by: number): void {
    copy.isPlaced = false;
    for (const other of MEMBERS) if (other !== by) copy.waits.add(other);
  }

  /** Copies that all have let go of are no rows any more. Gives the segments in which nothing is by that. */
  purge(): number[] {
    const goes = (copy: Packed) => !copy.isPlaced && copy.waits.size === 0;
    const segments = new Set(this.copies.filter(goes).map(({ tag }) => segmentOf(tag)));
    for (const { tag } of this.copies.filter(goes)) {
      const segment = this.segments.get(segmentOf(tag));
      if (segment !== undefined) segment.dead += UNIT;
    }
    this.copies = this.copies.filter((copy) => !goes(copy));
    for (const [number, { isGone, waits }] of this.segments)
      if (isGone && waits.size === 0) this.segments.delete(number);
    return [...segments].filter((one) => !this.copies.some(({ tag }) => segmentOf(tag) === one));
  }
}

type Step = {
  readonly do: 'fill' | 'remove' | 'move' | 'look' | 'die';
  readonly member: number;
  readonly pick: number;
};

const step: fc.Arbitrary<Step> = fc.record({
  do: fc.constantFrom('fill', 'remove', 'remove', 'move', 'move', 'look', 'look', 'look', 'look', 'die'),
  member: fc.nat({ max: 2 }),
  pick: fc.nat(),
});

function take(records: Records, model: Model, { do: what, member, pick }: Step, segment: number): void {
  const apply = (changes: Partial<Batch>) => {
    const { emptied, lost } = records.apply(batchOf(nameOf(member), changes));
    return { emptied: emptied.map(({ tag }) => tag), lost };
  };
  const begin = () => {
    apply({ wants: BYTES });
    model.purge();
    const sizes = { version: String(segment), size: BYTES, bytes: BYTES, occupied: BYTES };
    apply({ claims: [{ ...fileOf(segment), ...sizes }] });
    model.segments.set(segment, { waits: new Set(), isGone: false, dead: 0 });
  };
  /** Files of segments in which nothing is are deleted at once. */
  const end = (changes: Partial<Batch>) => {
    const told = apply(changes);
    expect(told.emptied.sort()).toEqual(model.purge().sort());
    for (const number of told.emptied) {
      apply({ gone: [fileOf(number)] });
      const waits = new Set(MEMBERS.filter((other) => other !== member));
      Object.assign(model.segments.get(number) ?? {}, { isGone: true, waits });
    }
    model.purge();
    return told.lost;
  };
  const placed = model.placed();
  const some = placed.filter((_, i) => ((pick >>> (i % 30)) & 1) === 1).slice(0, COPIES);
  switch (what) {
    case 'fill': {
      begin();
      const keys = Array.from({ length: COPIES }, (_, i) => `${segment} ${i}`);
      const packed = keys.map((key, i) => rowOf(key, packedTag(segment, i * UNIT)));
      for (const { key, tag } of packed) model.copies.push({ key, tag, isPlaced: true, waits: new Set() });
      expect(end({ packed, sealed: [fileOf(segment)] })).toEqual([]);
      return;
    }
    case 'remove': {
      const rows = some.map(({ key, tag }) => rowOf(key, tag));
      for (const copy of some) model.leave(copy, member);
      end({ leaving: rows, gone: rows });
      return;
    }
    case 'move': {
      if (some.length === 0) return;
      begin();
      const moved = some.map(({ key, tag }, i) => ({
        ...rowOf(key, packedTag(segment, i * UNIT)),
        from: tag,
      }));
      // What has left, or was never there, must not come to be.
      const [left] = model.copies.filter(({ isPlaced }) => !isPlaced);
      const at = packedTag(segment, COPIES * UNIT);
      const gone = { ...rowOf(left?.key ?? 'nothing', at), from: left?.tag ?? packedTag(segment, 0) };
      for (const copy of some) model.leave(copy, member);
      for (const { key, tag } of moved) model.copies.push({ key, tag, isPlaced: true, waits: new Set() });
      expect(end({ moved: [...moved, gone], sealed: [fileOf(segment)] })).toEqual([gone.tag]);
      return;
    }
    case 'look': {
      const { seq } = records.state({ member: nameOf(member) });
      for (const { waits } of [...model.copies, ...model.segments.values()]) waits.delete(member);
      end({ seen: seq });
      return;
    }
    case 'die': {
      // In the middle of a move: some are moved, and some are not.
      begin();
      const [first] = some;
      if (first !== undefined) {
        const tag = packedTag(segment, 0);
        model.leave(first, member);
        model.copies.push({ key: first.key, tag, isPlaced: true, waits: new Set() });
        end({ moved: [{ ...rowOf(first.key, tag), from: first.tag }] });
      }
      const heir = (member + 1) % MEMBERS.length;
      const inherited = records.inherit({ member: nameOf(heir), dead: [nameOf(member)] });
      for (const { waits } of [...model.copies, ...model.segments.values()]) waits.delete(member);
      const empty = model.purge();
      if (first === undefined) empty.push(segment);
      expect(inherited.map(({ tag }) => tag).sort()).toEqual(empty.sort());
      records.apply(batchOf(nameOf(heir), { gone: empty.map(fileOf) }));
      records.join({ member: nameOf(member), quota: QUOTA, dataset: 'data' });
      // Whoever joins has nothing open.
      const third = MEMBERS.filter((other) => other !== heir && other !== member);
      for (const number of empty)
        Object.assign(model.segments.get(number) ?? {}, { isGone: true, waits: new Set(third) });
      model.purge();
    }
  }
}

it('[T3] [T4] [Q1] copies that move between segments are in one of them at every moment, and a segment takes its room until nobody has anything of it open', () => {
  let runs = 0;
  fc.assert(
    fc.property(fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }), (steps) => {
      const file = path.join(directory, `index-${runs++}.db`);
      const records = new Records({ path: file, durable: false, logPages: 1000 });
      opened.push(records);
      records.open();
      const model = new Model();
      for (const member of MEMBERS) records.join({ member: nameOf(member), quota: QUOTA, dataset: 'data' });
      for (const [segment, one] of steps.entries()) {
        take(records, model, one, segment);
        const { occupied, copies } = records.state({ member: nameOf(0) });
        const segments = [...model.segments.values()];
        expect(occupied).toBe(segments.length * BYTES);
        expect(copies).toBe(model.placed().length + segments.filter(({ isGone }) => !isGone).length);
        for (const { key, tag } of model.placed())
          expect(records.find({ dataset: 1, key }).map((row) => row.tag)).toEqual([tag]);
        const sparse = [...model.segments].filter(([, { isGone, dead }]) => !isGone && 2 * dead > BYTES);
        expect([...records.sparse(undefined)].sort()).toEqual(sparse.map(([number]) => number).sort());
      }
    }),
    { numRuns: 25 },
  );
});

it('a copy is moved only into a segment that its member fills, and stays where it is else', () => {
  const records = new Records({ path: path.join(directory, 'index.db'), durable: false, logPages: 8 });
  opened.push(records);
  records.open();
  for (const member of MEMBERS) records.join({ member: nameOf(member), quota: QUOTA, dataset: 'data' });
  const model = new Model();
  take(records, model, { do: 'fill', member: 0, pick: 0 }, 1);
  const from = packedTag(1, 0);
  const moved = [{ ...rowOf('1 0', packedTag(2, 0)), from }];
  expect(records.apply(batchOf(nameOf(1), { moved })).lost).toEqual([packedTag(2, 0)]);
  expect(records.find({ dataset: 1, key: '1 0' })).toMatchObject([{ tag: from, member: undefined }]);
  expect(records.left({ after: 0 })).toEqual([]);
});
