import { parseChange, variantsOf } from '@tiered/simulator';
import { parseSimulation, strategyNamed } from '@tiered/simulator/config';
import { ault } from '@tiered/simulator/model';
import { STRATEGIES } from '@tiered/simulator/strategies';
import { describe, expect, it } from 'vitest';

const invalid = expect.objectContaining({ code: 'TIERED_CONFIG_INVALID' });

const document = {
  dataset: { samples: 200, meanMB: 1, sigmaMB: 0.2 },
  system: ault,
  epochs: 2,
  batchSize: 8,
  policies: ['naive', { policy: 'nopfs', filledBy: 'itself' }, { policy: 'locality-aware', keeps: 'all' }],
};

describe('parseSimulation', () => {
  it('takes policies by name and with options; all if none is named', () => {
    expect(parseSimulation(document).strategies.map(({ name }) => name)).toEqual([
      'naive',
      'nopfs',
      'locality-aware',
    ]);
    const { policies, ...rest } = document;
    expect(policies.length).toBe(3);
    expect(parseSimulation(rest).strategies).toEqual(STRATEGIES);
  });

  const falling = {
    points: [
      [2, 80],
      [1, 90],
    ],
  };
  it.each([
    ['epochs', { ...document, epochs: 0 }],
    ['dataset', { ...document, dataset: { samples: 3 } }],
    ['policies.0', { ...document, policies: [{ policy: 'lru', size: 3 }] }],
    ['system.source', { ...document, system: { ...ault, source: falling } }],
    ['system.workers', { ...document, system: { ...ault, workers: 1.5 } }],
    ['policies', { ...document, policies: ['best'] }],
    ['epoch', { ...document, epoch: 3 }],
    ['simulation', 'nothing'],
  ])('names %s where that cannot be', (field, value) => {
    expect(() => parseSimulation(value)).toThrow(invalid);
    expect(() => parseSimulation(value)).toThrow(field);
  });
});

describe('what if', () => {
  it('changes what it names and nothing else', () => {
    const [variant] = variantsOf(
      ault,
      ['ram=10', 'ssd.read=100', 'compute=50', 'workers=2', 'staging=4'].map(parseChange),
    );
    expect(variant?.system).toEqual({
      ...ault,
      workers: 2,
      computeMBps: 50,
      staging: { ...ault.staging, capacityMB: 4_000 },
      levels: [
        { ...ault.levels[0], capacityMB: 10_000 },
        { ...ault.levels[1], read: { points: [[2, 100]] } },
      ],
    });
  });

  it('scales a source, and the filling of levels up to what they can write', () => {
    const points = [
      [1, 50],
      [4, 100],
    ] as const;
    const level = { name: 'disk', capacityMB: 10, threads: 1, read: { points }, place: { points } };
    const slow = { ...level, name: 'tape', write: { points: [[1, 150]] as const } };
    const system = { ...ault, source: { points, beyond: 'linear' as const }, levels: [level, slow] };
    const [twice, half] = variantsOf(system, [parseChange('source=200,50')]);
    expect(twice?.setup).toBe('source 200 MB/s');
    expect(twice?.system.source).toEqual({
      points: [
        [1, 100],
        [4, 200],
      ],
      beyond: 'linear',
    });
    expect(twice?.system.levels.map(({ place }) => place?.points)).toEqual([
      [
        [1, 100],
        [4, 100],
      ],
      [
        [1, 100],
        [4, 150],
      ],
    ]);
    expect(half?.system.levels.map(({ place }) => place?.points[1])).toEqual([
      [4, 50],
      [4, 50],
    ]);
    expect(twice?.system.levels.map(({ read }) => read)).toEqual([{ points }, { points }]);
  });

  it('says sizes in a unit in which they can be read', () => {
    const setups = variantsOf(ault, [{ what: 'ram', values: [0.02, 0.06, 20] }]).map(({ setup }) => setup);
    expect(setups).toEqual(['ram 20 MB', 'ram 60 MB', 'ram 20 GB']);
  });

  it.each(['ram', 'ram=', 'ram=a', 'ram=0', 'tape=1', 'ram.write=3', 'workers=1.5'])('refuses %s', (text) => {
    expect(() => variantsOf(ault, [parseChange(text)])).toThrow(invalid);
  });
});

describe('strategyNamed', () => {
  it('refuses a name that none has', () => {
    expect(() => strategyNamed('best')).toThrow(invalid);
  });
});
