import { simulate, type SimulationResult } from '@tiered/simulator';
import { strategyNamed } from '@tiered/simulator/config';
import { noPfs, STRATEGIES } from '@tiered/simulator/strategies';
import { describe, expect, it } from 'vitest';
import { resultOf, scaled } from './helpers.js';

const HOUR = 3600;

/** Fewer samples and smaller tiers: the full scenarios are the bench's. */
const FACTORS = { '1': 1, '2': 20, '3': 20, '3-places': 100, '4': 200, '5': 1 } as const;
type Name = keyof typeof FACTORS;
const NAMES = Object.keys(FACTORS) as Name[];

const hours = (result: SimulationResult, name: Name) => (result.seconds * FACTORS[name]) / HOUR;

type Results = ReadonlyMap<string, SimulationResult>;

const simulated = new Map<Name, Promise<Results>>();

/** A simulation gives the same each time: each scenario is simulated once. */
function all(name: Name): Promise<Results> {
  const results =
    simulated.get(name) ??
    simulate(scaled(name, FACTORS[name]), STRATEGIES).then(
      (list) => new Map(list.map((result) => [result.strategy, result])),
    );
  simulated.set(name, results);
  return results;
}

/** Policies that read what the sampler asks for, from anywhere. */
const wholeDataset = (results: Results) =>
  [...results.values()].filter(
    ({ strategy, refused, notCovered, fullRandomization }) =>
      refused === undefined && notCovered === 0 && fullRandomization && strategy !== 'perfect',
  );

describe('scenario 1', () => {
  it('takes 3.6 times as long naively as at best, to 1 %, after 10 epochs', async () => {
    const results = await simulate(scaled('1', 1, { epochs: 10 }), STRATEGIES);
    const times = new Map(results.map(({ strategy, seconds }) => [strategy, seconds]));
    const naive = times.get('naive') ?? 0;
    times.delete('perfect');
    expect(naive / Math.min(...times.values()) / 3.6).toBeGreaterThan(0.99);
    expect(naive / Math.min(...times.values()) / 3.6).toBeLessThan(1.01);
  });
});

describe('scenario 3', () => {
  it('cannot take less than 2.13 h', async () => {
    const result = await resultOf(scaled('3', FACTORS['3']), strategyNamed('perfect'));
    expect(Math.abs(hours(result, '3') / 2.13 - 1)).toBeLessThan(0.005);
  });

  it.each([1, 2, 4])('takes 2.76 h by NoPFS with a staging buffer of %d GB, to 1 %', async (gb) => {
    const simulation = scaled('3', FACTORS['3']);
    const { system } = simulation;
    const staging = { ...system.staging, capacityMB: (gb * 1024) / FACTORS['3'] };
    const result = await resultOf({ ...simulation, system: { ...system, staging } }, noPfs());
    expect(Math.abs(hours(result, '3') / 2.76 - 1)).toBeLessThan(0.01);
  });

  it('is much slower with DeepIO in order, which does not count accesses', async () => {
    const results = await all('3');
    const ratio = (results.get('deepio-ordered')?.seconds ?? 0) / (results.get('nopfs')?.seconds ?? 1);
    expect(ratio).toBeGreaterThan(1.3);
  });

  it('comes to the same with fewer samples on smaller tiers', async () => {
    const [fewer, more] = [
      await resultOf(scaled('3', 80), noPfs()),
      await resultOf(scaled('3', 20), noPfs()),
    ];
    expect(Math.abs((fewer.seconds * 80) / (more.seconds * 20) - 1)).toBeLessThan(0.01);
  });
});

describe('scenario 4', () => {
  it('is faster where the dataset is not read, and only there', async () => {
    const results = await all('4');
    const best = results.get('nopfs')?.seconds ?? 0;
    for (const name of ['deepio-opportunistic', 'parallel-staging']) {
      const result = results.get(name);
      expect(result?.seconds).toBeLessThan(best);
      expect(result?.notCovered).toBeGreaterThan(0.3);
    }
    const faster = [...results.values()].filter(
      ({ refused, seconds }) => refused === undefined && seconds < best,
    );
    expect(faster.map(({ strategy }) => strategy).sort()).toEqual([
      'deepio-opportunistic',
      'parallel-staging',
      'perfect',
    ]);
  });
});

describe.each(NAMES)('scenario %s', (name) => {
  it('is read in full by nothing faster than by NoPFS, to 0.2 %', async () => {
    const results = await all(name);
    const ours = results.get('nopfs')?.seconds ?? Infinity;
    expect(wholeDataset(results).length).toBeGreaterThan(6);
    for (const { seconds } of wholeDataset(results)) expect(ours).toBeLessThanOrEqual(seconds * 1.002);
  });

  it('is refused by the LBANN data store where the RAM of all workers is too small, and only there', async () => {
    const results = await all(name);
    for (const strategy of ['lbann-dynamic', 'lbann-preloading'])
      expect(results.get(strategy)?.refused !== undefined).toBe(!['1', '2'].includes(name));
  });

  it('never takes less than the lower bound', async () => {
    const results = await all(name);
    const bound = results.get('perfect')?.seconds ?? Infinity;
    for (const { refused, seconds, stallSeconds, sources } of results.values()) {
      if (refused !== undefined) continue;
      // What is read in another order need not add up to the same bytes.
      expect(seconds).toBeGreaterThan(bound * 0.97);
      expect(stallSeconds).toBeGreaterThanOrEqual(-1e-6);
      const share = sources.reduce((sum, source) => sum + source.share, 0);
      if (sources.length > 0) expect(share).toBeCloseTo(1, 9);
    }
  });
});
