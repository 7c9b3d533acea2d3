import { parseBytes } from '@tiered/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jobLines } from '../src/control-room/table.js';
import { settingLines, viewLines } from '../src/control-room/text.js';
import { viewOf, type JobAtSource } from '../src/control-room/view.js';
import { givenBytes, givenRate } from '../src/words.js';
import { stageOf } from './cli/control-records.js';

const NARROW = 80;
const JOB: JobAtSource = {
  job: 'imagenet',
  weight: 1,
  priority: 0,
  atLeast: { bytes: 0, operations: 0 },
  atMost: { bytes: null, operations: null },
  wanted: { bytes: null, operations: null },
  share: { bytes: 12.5 * 2 ** 20, operations: null },
  used: { bytes: 12.5 * 2 ** 20, operations: 400 },
  waits: 1,
  stall: 1,
  stages: 1,
};
const headOf = (lines: readonly string[]) => lines[0]?.split(/ {2,}/) ?? [];

describe('what operators have set', () => {
  it('says bounds in bytes and in requests', () => {
    const jobs = {
      llm: { atLeast: { bytes: 2 ** 20 }, atMost: { operations: 900 } },
      imagenet: { atMost: { bytes: 2 ** 30, operations: 1200 } },
    };
    expect(settingLines({ sources: {}, jobs, nodes: {} })).toEqual([
      'job llm: at least 1 MiB/s, at most 900 requests/s',
      'job imagenet: at most 1 GiB/s, 1,200 requests/s',
    ]);
  });
});

describe('the table of jobs', () => {
  it('has guarantees and limits where a job has one', () => {
    expect(headOf(jobLines([JOB]))).not.toContain('at least');
    const limited = {
      ...JOB,
      job: 'llm',
      atLeast: { bytes: 2 ** 20, operations: 0 },
      atMost: { bytes: null, operations: 900 },
    };
    const [head, one, other] = jobLines([JOB, limited]);
    expect(head).toMatch(/^job +weight +priority +at least +at most +wants/);
    expect(one).toMatch(/^imagenet +1 +0 +- +- +everything/);
    expect(other).toMatch(/^llm +1 +0 +1 MiB\/s +900\/s +everything/);
  });

  it('fits a terminal, and leaves out first what matters least', () => {
    expect(headOf(jobLines([JOB]))).toContain('stages');
    const head = headOf(jobLines([JOB], NARROW));
    expect(head).not.toContain('stages');
    expect(head).toEqual(
      expect.arrayContaining(['job', 'weight', 'wants', 'gets', 'uses', 'waits', 'stall']),
    );
    const amount = fc.double({ min: 0, max: 1e12, noNaN: true });
    const rate = fc.record({
      bytes: fc.option(amount),
      operations: fc.option(amount),
    });
    const job = fc.record({
      job: fc.stringMatching(/^[\w.-]{1,64}$/),
      weight: fc.constantFrom(1, 0.001, 2.5),
      priority: fc.integer({ min: -100, max: 100 }),
      atLeast: rate,
      atMost: rate,
      wanted: rate,
      share: rate,
      used: rate,
      waits: fc.double({ min: 0, max: 1, noNaN: true }),
      stall: fc.constantFrom(null, 0, 1),
      stages: fc.integer({ min: 1, max: 5000 }),
    });
    fc.assert(
      fc.property(fc.array(job, { minLength: 1, maxLength: 5 }), (jobs) => {
        const lines = jobLines(jobs, NARROW);
        expect(lines).toHaveLength(jobs.length + 1);
        for (const line of lines) expect(line.length).toBeLessThanOrEqual(NARROW);
        for (const needed of ['job', 'wants', 'gets', 'uses']) expect(headOf(lines)).toContain(needed);
      }),
    );
  });
});

describe('the lines of a source', () => {
  const linesOf = (...jobs: readonly string[]) =>
    viewLines(
      viewOf({
        stages: jobs.map((job) => ({ id: job, ...stageOf({ job, report: { budget: { bytes: 20e6 } } }) })),
        policy: undefined,
      }),
    );

  it('say how much of it is shared out, if several jobs share it', () => {
    expect(linesOf('one', 'two').slice(0, 2)).toEqual([
      'source server:/export: 20 MB/s (19.1 MiB/s), as its jobs say',
      '  jobs share 18.8 MiB/s of it: 98.5 %, so that requests do not wait in it',
    ]);
    expect(linesOf('one').join('\n')).not.toContain('share');
  });
});

describe('bytes that somebody has set', () => {
  it.each([
    ['20MB', '20 MB/s (19.1 MiB/s)'],
    ['1.5 GB', '1.5 GB/s (1.4 GiB/s)'],
    ['2250kB', '2.25 MB/s (2.1 MiB/s)'],
    ['20MiB', '20 MiB/s'],
    ['1GiB', '1 GiB/s'],
    ['100', '100 B/s'],
    ['1234567', '1.2 MiB/s'],
  ])('are shown as they were typed: %s', (typed, shown) => {
    expect(givenRate(parseBytes(typed))).toBe(shown);
  });

  it('are shown exactly where they are shown in powers of 1000', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e15 }), (bytes) => {
        const [typed, inBinary] = givenBytes(bytes).split(' (');
        if (inBinary !== undefined) expect(parseBytes(typed ?? '')).toBe(bytes);
      }),
    );
  });
});
