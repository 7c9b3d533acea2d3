import { cutTrace, keysOf, mergeTraces, readTrace, traceLine, type TraceEntry } from '@tiered/interpose';
import fc from 'fast-check';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeShim, makeDataset, opensOf, run, serve, temporaryDirectory } from './helpers.js';

const entry = fc.record({
  seconds: fc.nat(10 ** 9).map((n) => n / 1000),
  key: fc.string({ unit: 'binary', minLength: 1 }),
});
const trace = fc.array(entry, { maxLength: 50 }).map((all) => all.sort((a, b) => a.seconds - b.seconds));

async function* given<T>(items: readonly T[]): AsyncGenerator<T, void, undefined> {
  yield* items;
}

async function taken<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

function fileOf(text: string): string {
  const file = path.join(temporaryDirectory(), 'trace');
  fs.writeFileSync(file, text);
  return file;
}

describe('a trace', () => {
  it('is read as it was written, whatever keys there are', async () => {
    const directory = temporaryDirectory();
    let files = 0;
    await fc.assert(
      fc.asyncProperty(trace, async (entries) => {
        const file = path.join(directory, `${files++}`);
        fs.writeFileSync(file, entries.map(traceLine).join(''));
        expect(await taken(readTrace(file))).toEqual(entries);
      }),
    );
  });

  it('is merged by time, and cut by opens', async () => {
    const cuts = fc.record({ skip: fc.nat(60), take: fc.option(fc.nat(60), { nil: undefined }) });
    await fc.assert(
      fc.asyncProperty(fc.array(trace, { maxLength: 4 }), cuts, async (traces, { skip, take }) => {
        const merged = await taken(mergeTraces(traces.map(given)));
        const sorted = traces.flat().sort((a, b) => a.seconds - b.seconds);
        expect(merged).toEqual(sorted);
        const end = take === undefined ? undefined : skip + take;
        expect(await taken(cutTrace(given(merged), { skip, take }))).toEqual(merged.slice(skip, end));
      }),
    );
  });

  it('may end in the middle of a line, and nowhere else', async () => {
    expect(await taken(readTrace(fileOf('[0,"a"]\n[1,"b')))).toEqual([{ seconds: 0, key: 'a' }]);
    for (const text of ['[0,"a"]\n[1,"b\n', '[0,"a"]\n{}\n[2,"c"]\n', 'images/cat.jpg\n'])
      await expect(taken(readTrace(fileOf(text)))).rejects.toMatchObject({
        code: 'TIERED_DATA_CORRUPT',
        message: expect.stringMatching(/line \d: expected \[seconds, "key"\]/) as string,
      });
  });
});

const KEYS = Array.from({ length: 40 }, (_, i) => `${i % 4}/${i}.jpg`);
const BYTES = 100_000;
const QUOTA = 2_200_000;
/** Copies that the tier has room for, beside its index: between these. */
const [LEAST_COPIES, MOST_COPIES] = [17, 22];
/** Objects of the tier that are there for what comes next. */
const LEAD = 2;

/** Shuffled epochs, by a generator of its own. */
function epochs(count: number, seed: number): string[] {
  const rng = fc.sample(fc.shuffledSubarray([...KEYS], { minLength: KEYS.length }), { numRuns: count, seed });
  return rng.flat();
}

/** How many objects are fetched by Belady's MIN with room for so many. */
function fetchesOfMin(order: readonly string[], room: number): number {
  const held = new Set<string>();
  let fetches = 0;
  for (const [i, key] of order.entries()) {
    if (held.has(key)) continue;
    fetches += 1;
    const dueOf = (one: string) => {
      const due = order.indexOf(one, i);
      return due < 0 ? Infinity : due;
    };
    if (held.size === room)
      held.delete([...held].reduce((last, one) => (dueOf(one) > dueOf(last) ? one : last)));
    held.add(key);
  }
  return fetches;
}

describeShim('an interposer with a plan', () => {
  it('[I8] places ahead of programs, and fetches no more than it has to', async () => {
    const dataset = makeDataset(KEYS, { bytes: BYTES });
    const order = epochs(4, 17);
    const interposer = await serve(dataset, {
      quota: QUOTA,
      plan: given(order),
      placement: { chunk: 65_536 },
    });
    await interposer.idle();
    for (const key of order) {
      const file = path.join(dataset.source, key);
      const { source, result } = await opensOf(interposer, () => run(interposer, 'cat', [file]));
      const bytes = dataset.contents.get(key) ?? Buffer.alloc(0);
      expect(Buffer.compare(Buffer.from(result, 'latin1'), bytes)).toBe(0);
      expect(source).toBe(0);
      await interposer.idle();
    }
    const { ahead, hierarchy } = interposer.stats();
    expect(ahead).toMatchObject({ late: 0, unplanned: 0 });
    const fetched = Math.round(hierarchy.source.readBytes / BYTES);
    expect(fetched).toBeGreaterThanOrEqual(fetchesOfMin(order, MOST_COPIES));
    expect(fetched).toBeLessThanOrEqual(fetchesOfMin(order, LEAST_COPIES - LEAD));
  });

  it('[I8] leaves programs that do something else to the source', async () => {
    const dataset = makeDataset(KEYS, { bytes: BYTES });
    const [planned, others] = [epochs(2, 1), epochs(2, 2)];
    const interposer = await serve(dataset, {
      quota: QUOTA,
      plan: given(planned),
      placement: { chunk: 65_536 },
    });
    for (const key of others) {
      const out = await run(interposer, 'cat', [path.join(dataset.source, key)]);
      expect(Buffer.compare(Buffer.from(out, 'latin1'), dataset.contents.get(key) ?? Buffer.alloc(0))).toBe(
        0,
      );
    }
    await interposer.idle();
  });

  it('[I8] is idle also where all that is on its way waits for room', async () => {
    const keys = Array.from({ length: 100 }, (_, i) => `${i}`);
    const dataset = makeDataset(keys, { bytes: 10 });
    for (const key of keys) fs.writeFileSync(path.join(dataset.source, key), Buffer.alloc(100_000, key));
    const order = [...keys, ...keys, ...keys];
    const interposer = await serve(dataset, { quota: 56 * 102_400, plan: given(order) });
    for (let epoch = 0; epoch < 3; epoch++) {
      const script = keys.map((key) => `cat '${path.join(dataset.source, key)}' > /dev/null`).join('\n');
      await run(interposer, 'sh', ['-c', script]);
      await interposer.idle();
    }
    expect(interposer.stats().ahead).toMatchObject({ unplanned: 0 });
  });

  it('[I8] replays what it recorded', async () => {
    const dataset = makeDataset(KEYS, { bytes: BYTES });
    const record = path.join(temporaryDirectory(), 'trace');
    const order = epochs(2, 3);
    const recording = await serve(dataset, { quota: QUOTA, record, placement: { chunk: 65_536 } });
    const files = order.map((key) => path.join(dataset.source, key));
    const first = await opensOf(recording, () => run(recording, 'cat', files));
    await recording.close();
    expect(await taken(keysOf(readTrace(record)))).toEqual(order);
    expect(first.source).toBeGreaterThan(40);
    const entries: TraceEntry[] = await taken(readTrace(record));
    expect(entries.map(({ seconds }) => seconds)).toEqual(
      entries.map(({ seconds }) => seconds).sort((a, b) => a - b),
    );
    await expect(serve(dataset, { record })).rejects.toMatchObject({ code: 'EEXIST' });

    // With tiers that hold nothing yet.
    const replaying = await serve(
      { source: dataset.source, tiers: [path.join(temporaryDirectory(), 'tier')] },
      { quota: QUOTA, plan: keysOf(readTrace(record)), placement: { chunk: 65_536 } },
    );
    await replaying.idle();
    for (const key of order) {
      const file = path.join(dataset.source, key);
      const { result, ...opens } = await opensOf(replaying, () => run(replaying, 'cat', [file]));
      expect(
        Buffer.compare(Buffer.from(result, 'latin1'), dataset.contents.get(key) ?? Buffer.alloc(0)),
      ).toBe(0);
      expect(opens).toEqual({ source: 0, copies: 1 });
      await replaying.idle();
    }
    expect(replaying.stats().ahead).toMatchObject({ late: 0, unplanned: 0 });
  });

  it('refuses a plan of other files', async () => {
    const dataset = makeDataset(KEYS.slice(0, 3));
    await expect(serve(dataset, { plan: given(['elsewhere']) })).rejects.toThrow(/^replay: /);
  });
});
