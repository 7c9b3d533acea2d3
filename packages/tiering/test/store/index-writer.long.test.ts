import { systemClock } from '@tiered/core';
import { packedTag } from '@tiered/core/internal';
import { ManualClock, settled } from '@tiered/core/testing';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FlushUrgency } from '../../src/memory/flush-urgency.js';
import { IndexClient } from '../../src/index/index-client.js';
import { IndexWriter, type IndexWriterParts, type Leases } from '../../src/index/index-writer.js';
import { MemoryBudget } from '../../src/memory/memory-budget.js';
import { Writers } from '../../src/memory/writers.js';
import { logRoomOf, transactionPagesOf } from '../../src/index/open-index.js';

const CLAIMS = 150;

let directory: string;
let clients: IndexClient[];

beforeEach(() => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-writer-'));
  clients = [];
});

afterEach(async () => {
  await Promise.all(clients.map((client) => client.end()));
  fs.rmSync(directory, { recursive: true, force: true });
});

/** So little that the log has the fewest pages there are. */
const QUOTA = 1e6;

/** Nobody waits for anything. */
const NO_HASTE = new FlushUrgency(new MemoryBudget(1e6, systemClock), new Writers(1, systemClock));

const leases: Leases = {
  mostPages: transactionPagesOf(QUOTA),
  terms: () => ({ wants: 0, spare: 0, hold: 0, directoryBytes: 0 }),
  applied: () => undefined,
  failed: () => undefined,
};

/** A member with a thread and a connection of its own, as another process has. */
async function writerOf(
  member: string,
  told: Partial<Leases> = {},
  { clock = systemClock, urgency = NO_HASTE }: Partial<Pick<IndexWriterParts, 'clock' | 'urgency'>> = {},
): Promise<IndexWriter> {
  const client = new IndexClient(
    { path: path.join(directory, 'index.db'), durable: true, logPages: 8 },
    'a tier',
    systemClock,
  );
  clients.push(client);
  const signal = new AbortController().signal;
  const ends = { ended: signal, ending: signal };
  const writer = new IndexWriter({ client, member, clock, leases: { ...leases, ...told }, ends, urgency });
  await writer.patiently(() => client.call('open', undefined));
  await writer.patiently(() => client.call('join', { member, quota: 1e9, dataset: 'data' }));
  return writer;
}

it('[T3] writers in tight loops do not starve each other, and no other writer is an error to anybody', async () => {
  const writers = [await writerOf('a'), await writerOf('b'), await writerOf('c')];
  const done = writers.map(() => 0);
  let whenFirstEnded: number[] = [];
  await Promise.all(
    writers.map(async (writer, number) => {
      for (let i = 0; i < CLAIMS; i++) {
        const tag = number * CLAIMS + i;
        const sizes = { size: 1, bytes: 1, occupied: 1 };
        const isDone = await writer.claim({ key: `key ${tag}`, dataset: 1, tag, version: 'v', ...sizes });
        expect(isDone).toBe(true);
        done[number] = i + 1;
      }
      if (whenFirstEnded.length === 0) whenFirstEnded = [...done];
    }),
  );
  expect(done).toEqual([CLAIMS, CLAIMS, CLAIMS]);
  expect(Math.min(...whenFirstEnded), 'what each had done when the first had done all').toBeGreaterThan(0);
});

it('[Q1] however much is asked for at once, the write-ahead log stays within the room that is kept for it', async () => {
  let longest = 0;
  let transactions = 0;
  const writer = await writerOf('a', {
    applied: () => {
      transactions += 1;
      longest = Math.max(longest, fs.statSync(path.join(directory, 'index.db-wal')).size);
    },
  });
  const rows = Array.from({ length: 400 }, (_, tag) => {
    // In no order of the index.
    const key = `${Math.imul(tag + 1, 0x9e3779b1) >>> 0}${'-'.repeat(300)}`;
    return {
      key,
      dataset: 1,
      tag,
      version: 'v',
      size: 1,
      bytes: 1,
      occupied: 1,
      chunk: 1,
      sums: new Uint8Array(8),
    };
  });
  const ended = await Promise.all(
    rows.map(async (row) => {
      const done = [await writer.claim(row), await writer.placed(row)];
      await writer.leaving(row);
      await writer.gone(row);
      return done;
    }),
  );
  await writer.next();
  expect(ended.flat().every((isDone) => isDone)).toBe(true);
  expect(longest).toBeLessThanOrEqual(logRoomOf(QUOTA));
  expect(transactions).toBeLessThan(rows.length);
});

it('[Q1] so it does where copies are recorded in segments', async () => {
  let longest = 0;
  const writer = await writerOf('a', {
    applied: () => {
      longest = Math.max(longest, fs.statSync(path.join(directory, 'index.db-wal')).size);
    },
  });
  for (let segment = 0; segment < 4; segment++) {
    const ref = { key: '', dataset: 0, tag: segment };
    const claim = { ...ref, version: String(segment), size: 1, bytes: 1, occupied: 1 };
    expect(await writer.claim(claim)).toBe(true);
    const rows = Array.from({ length: 500 }, (_, i) => {
      // In no order of the index.
      const key = `${Math.imul(500 * segment + i + 1, 0x9e3779b1) >>> 0}${'-'.repeat(100)}`;
      const sizes = { size: 1, bytes: 1, chunk: 1 };
      return {
        key,
        dataset: 1,
        tag: packedTag(segment, 16 * i),
        version: 'v',
        ...sizes,
        sums: new Uint8Array(16),
      };
    }).sort((a, b) => (a.key < b.key ? -1 : 1));
    const ended = rows.map((row) => writer.packed(row));
    expect(await writer.sealed(ref)).toBe(true);
    expect(await Promise.all(ended)).toEqual(rows.map(() => true));
  }
  expect(longest).toBeLessThanOrEqual(logRoomOf(QUOTA));
});

describe('changes that nobody waits for', () => {
  const claimOf = (tag: number) => {
    const sizes = { size: 1, bytes: 1, occupied: 1 };
    return { key: `key ${tag}`, dataset: 1, tag, version: 'v', ...sizes };
  };

  /** A writer that has just made a transaction, on a clock that stands. */
  async function afterTransaction() {
    const clock = new ManualClock();
    const writers = new Writers(1, clock);
    const urgency = new FlushUrgency(new MemoryBudget(1e6, clock), writers);
    const made: number[] = [];
    const applied: Leases['applied'] = (_, claims) => void made.push(claims.length);
    const writer = await writerOf('a', { applied }, { clock, urgency });
    expect(await writer.claim(claimOf(0))).toBe(true);
    return { clock, urgency, writers, made, writer };
  }

  it('are gathered for a moment', async () => {
    const { clock, made, writer } = await afterTransaction();
    const claims: Promise<boolean>[] = [];
    for (let tag = 1; tag <= 5; tag++) {
      claims.push(writer.claim(claimOf(tag)));
      for (let turn = 0; turn < 20; turn++) await settled();
    }
    expect(made).toEqual([1]);
    expect(clock.sleeping).toBe(1);
    await clock.advance(10);
    expect(await Promise.all(claims)).toEqual([true, true, true, true, true]);
    expect(made).toEqual([1, 5]);
  });

  it('are gathered with records of files, unless another write waits for the turn of one', async () => {
    const { clock, writers, made, writer } = await afterTransaction();
    const records = [writer.placed({ ...claimOf(0), chunk: 1, sums: new Uint8Array(8) })];
    const claimed = writer.claim(claimOf(1));
    for (let turn = 0; turn < 20; turn++) await settled();
    expect(made).toEqual([1]);
    let end: (() => void) | undefined;
    const turns = [writers.run(1, () => new Promise<void>((resolve) => (end = resolve)))];
    for (let turn = 0; turn < 20; turn++) await settled();
    expect(made).toEqual([1]);
    turns.push(writers.run(1, async () => undefined));
    expect(await Promise.all([...records, claimed])).toEqual([true, true]);
    expect(made).toEqual([1, 1]);
    expect(clock.now()).toBe(0);
    end?.();
    await Promise.all(turns);
  });

  it('go after the record of a copy, for which its writer has a turn', async () => {
    const { made, writer } = await afterTransaction();
    const claims = Array.from({ length: 499 }, (_, i) => writer.claim(claimOf(100 + i)));
    expect(await writer.placed({ ...claimOf(0), chunk: 1, sums: new Uint8Array(8) })).toBe(true);
    const before = made.reduce((sum, count) => sum + count, 0);
    expect(before).toBeLessThan(claims.length / 2);
    const [claimed] = await Promise.all([Promise.all(claims), writer.settled()]);
    expect(claimed).toEqual(claims.map(() => true));
  });

  it('are not gathered for long where a turn of the event loop takes long', async () => {
    let [turns, turnMs] = [0, 0];
    const clock: ManualClock = new ManualClock(async () => {
      turns += 1;
      clock.pass(turnMs);
      await settled();
    });
    const writer = await writerOf('a', {}, { clock });
    turnMs = 5;
    turns = 0;
    expect(await writer.claim(claimOf(0))).toBe(true);
    expect(turns).toBe(1);
  });

  type Hurry = (parts: Awaited<ReturnType<typeof afterTransaction>>) => Promise<unknown>;
  const urgent: [string, Hurry][] = [
    ['room is asked for', ({ writer }) => writer.next()],
    ['a copy leaves', ({ writer }) => writer.leaving(claimOf(0))],
    ['everything is to be settled', ({ writer }) => writer.settled()],
    ['somebody waits for all copies', async ({ urgency }) => urgency.begin()],
    [
      'there are so many that the log has no room for more',
      ({ writer }) => Promise.all(Array.from({ length: 199 }, (_, i) => writer.claim(claimOf(100 + i)))),
    ],
  ];

  it.each(urgent)('go at once when %s', async (_, hurry) => {
    const parts = await afterTransaction();
    const claimed = parts.writer.claim(claimOf(1));
    await settled();
    const [isDone] = await Promise.all([claimed, hurry(parts)]);
    expect(isDone).toBe(true);
    expect(parts.clock.now()).toBe(0);
  });
});
