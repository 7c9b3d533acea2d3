import fc from 'fast-check';
import { expect, test } from 'vitest';
import { samplesOf, type LoopListener, type SampleTaker } from '../src/sample-loop.js';
import type { Sample } from '../src/sample.js';

/** What becomes of the call that takes sample i: it is there, it comes later, or it cannot be read. */
type Fate = 'there' | 'later' | 'broken';

/** What a consumer does, and whether it waits for that to be answered before it goes on. */
interface Step {
  readonly call: 'next' | 'return';
  readonly waits: boolean;
}

const steps = fc.array(
  fc.record<Step>({
    call: fc.constantFrom('next', 'next', 'next', 'return'),
    waits: fc.boolean(),
  }),
  { maxLength: 12 },
);
const fates = fc.array(fc.constantFrom<Fate>('there', 'there', 'later', 'broken'), { maxLength: 6 });

/** Samples with these fates, and everything that is done with them. */
function takerOf(all: readonly Fate[], log: string[], knowsNow: boolean): SampleTaker & LoopListener {
  let taken = 0;
  const sampleOf = (i: number): Sample => ({
    key: String(i),
    epoch: 0,
    position: i,
    data: new Uint8Array(0),
    release: () => void log.push(`release ${i}`),
    [Symbol.dispose]: () => undefined,
  });
  return {
    take: async () => {
      const i = taken++;
      log.push(`take ${i}`);
      const fate = all[i];
      if (fate === 'later') for (let turn = 0; turn < 5; turn++) await Promise.resolve();
      if (fate === 'broken') throw new Error(`sample ${i}`);
      return fate === undefined ? [] : [sampleOf(i)];
    },
    takeNow: () => {
      if (!knowsNow || all[taken] !== 'there') return undefined;
      log.push(`take ${taken}`);
      return sampleOf(taken++);
    },
    began: () => void log.push('began'),
    ended: async (isAtEnd) => void log.push(`ended ${isAtEnd}`),
  };
}

/** What the loop is to be like. */
async function* generated(taker: SampleTaker & LoopListener): AsyncIterableIterator<Sample> {
  let isAtEnd = false;
  taker.began();
  try {
    for (let [sample] = await taker.take(1); sample !== undefined; [sample] = await taker.take(1)) {
      try {
        yield sample;
      } finally {
        sample.release();
      }
    }
    isAtEnd = true;
  } finally {
    await taker.ended(isAtEnd);
  }
}

/** The answers to the calls of a consumer. */
async function answersTo(script: readonly Step[], loop: AsyncIterableIterator<Sample>): Promise<string[]> {
  const answers: Promise<string>[] = [];
  for (const { call, waits } of script) {
    const answer = call === 'next' ? loop.next() : loop.return?.();
    const text = Promise.resolve(answer).then(
      (result) => (result?.done === true ? 'over' : `sample ${result?.value.key}`),
      (error: unknown) => `failed: ${(error as Error).message}`,
    );
    answers.push(text);
    if (waits) await text;
  }
  return Promise.all(answers);
}

test('a loop does what an async generator would do, also if calls overlap', async () => {
  await fc.assert(
    fc.asyncProperty(fates, steps, fc.boolean(), async (all, script, knowsNow) => {
      const [wantedLog, log]: [string[], string[]] = [[], []];
      const wanted = await answersTo(script, generated(takerOf(all, wantedLog, false)));
      const taker = takerOf(all, log, knowsNow);
      expect(await answersTo(script, samplesOf(taker, taker))).toEqual(wanted);
      expect(log).toEqual(wantedLog);
    }),
    { numRuns: 2000 },
  );
});

test('what is thrown where a sample should be there ends the loop with that', async () => {
  const log: string[] = [];
  const taker = {
    ...takerOf(['there'], log, true),
    takeNow: () => {
      throw new Error('no memory');
    },
  };
  const loop = samplesOf(taker, taker);
  await loop.next();
  await expect(loop.next()).rejects.toThrow('no memory');
  expect(await loop.next()).toEqual({ done: true, value: undefined });
  expect(log).toEqual(['began', 'take 0', 'release 0', 'ended false']);
});
