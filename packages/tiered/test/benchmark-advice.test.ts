import { describe, expect, it } from 'vitest';
import { adviceOn } from '../src/benchmark/advice.js';
import { shareOf } from '../src/benchmark/epochs.js';
import type { BenchResult } from '../src/benchmark/result.js';

type Place = BenchResult['places'][number];
const place = (name: string, MBps: number, more: Partial<Place> = {}): Place => ({
  name,
  kind: name === 'source' ? 'source' : 'files',
  place: '/x',
  read: [
    [1, MBps / 2],
    [8, MBps],
    [32, MBps],
  ],
  best: { atATime: 8, MBps },
  bound: { by: 'reading the files', MBps, spread: 1 },
  spread: 1,
  ...more,
});
const epoch = (name: string, more: Partial<BenchResult['epochs'][number]> = {}) => ({
  name,
  whole: 1,
  seconds: 10,
  samples: 100,
  bytes: 1e9,
  sourceRequests: 0,
  sourceBytes: 0,
  from: {},
  share: undefined,
  verdict: `what limits ${name}.`,
  ...more,
});
const advice = (places: Place[], more: Partial<BenchResult> = {}) =>
  adviceOn({ sample: { objects: 10, bytes: 1e7, listed: 20 }, places, leftOut: [], epochs: [], ...more });

describe('what a bench says', () => {
  it('is how many reads at a time are worthwhile', () => {
    expect(advice([place('source', 100)])).toEqual([
      'source gives 95.4 MiB/s to 8 reads at a time; more bring no more.',
      expect.stringContaining('The epochs read 10 of the 20 objects that were listed, 9.5 MiB'),
    ]);
    const [most] = advice([place('source', 100, { best: { atATime: 32, MBps: 100 } })]);
    expect(most).toBe('source gives 95.4 MiB/s to 32 reads at a time, the most that were tried.');
  });

  it('is what is slow compared with its bound, and why', () => {
    const bound = { by: 'reading the files', MBps: 1000, spread: 1 };
    const of = (name: string, bytes: number) =>
      advice([place(name, 100, { bound })], { sample: { objects: 10, bytes, listed: 10 } })[0];
    expect(of('source', 1e6)).toContain(
      'That is 10 % of 953.7 MiB/s by reading the files: its objects are small',
    );
    expect(of('tier 0', 1e6)).toContain('layout: packed');
    expect(of('tier 0', 1e8)).toContain('@tiered/native');
    for (const [heldBack, told] of [
      ['throttle', 'its throttle in the configuration'],
      ['packed', 'is in the epochs'],
    ] as const)
      expect(advice([place('tier 0', 100, { bound, heldBack })])[0]).toContain(told);
    expect(advice([place('tier 0', 100, { bound, kind: 'memory' })])[0]).not.toContain('That is');
  });

  it('is which tiers are not worth it, and which hold a first epoch up', () => {
    const [source, slow, fast] = [
      place('source', 100),
      place('tier 0', 120, { filling: 90 }),
      place('tier 1', 500, { filling: 20 }),
    ];
    const told = advice([source, slow, fast]).join('\n');
    expect(told).toContain('tier 0 is hardly faster than the source (95.4 MiB/s)');
    expect(told).not.toContain('tier 1 is hardly');
    expect(told).toContain(
      'and 19.1 MiB/s while tier 1 is filled. Where writes are the limit, placement: { whenBehind: goOn }',
    );
  });

  it('is what limits epochs, and what the later ones still read from the source', () => {
    const of = (first: object, later: object) =>
      advice([place('source', 100)], {
        epochs: [epoch('0', first), epoch('1 to 4', { whole: 4, ...later })],
      });
    expect(of({}, {})).toEqual(
      expect.arrayContaining([
        'Epoch 0: what limits 0.',
        'Epochs 1 to 4: what limits 1 to 4.',
        'An epoch after the first takes 25 % of its time.',
      ]),
    );
    expect(of({}, { sourceBytes: 5e8 }).join('\n')).toContain('It still reads 50 % from the source');
    const cut = of({ whole: 0 }, {});
    expect(cut).toContain('Epoch 0 (cut off for time): what limits 0.');
    expect(cut.join('\n')).not.toContain('of its time');
  });

  it('is what not to trust', () => {
    expect(advice([place('source', 100, { spread: 3 })])[1]).toContain(
      'Tries of one figure differ, the fastest from the slowest by a factor of: source 3.0.',
    );
  });
});

it('the share of an epoch is what its places could have given one after the other', () => {
  const places = [place('source', 100), place('tier 0', 1000)];
  const from = { 'tier 0': 1e9, source: 1e9 };
  expect(shareOf({ seconds: 22, from }, places)).toBeCloseTo(0.5);
  expect(shareOf({ seconds: 10, from: { 'tier 0': 1e9, source: 0 } }, places)).toBeCloseTo(0.1);
  expect(shareOf({ seconds: 10, from: { 'tier 1': 1 } }, places)).toBeUndefined();
});
