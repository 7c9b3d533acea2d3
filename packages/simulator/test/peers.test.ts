import { peerModelOf, systemOf, type CalibrationProfile } from '@tiered/simulator/calibration';
import { describe, expect, it } from 'vitest';

const measured: CalibrationProfile = {
  version: 1,
  objectBytes: 100_000,
  source: {
    name: 's3',
    read: {
      points: [
        [1, 50],
        [4, 100],
        [8, 100],
      ],
    },
  },
  tiers: [],
  peers: {
    name: 'peer',
    read: {
      points: [
        [1, 200],
        [4, 400],
      ],
    },
  },
  computeMBps: 100,
  preprocessMBps: 100,
};
const staging = { name: 'staging', capacityMB: 100, threads: 4, read: { points: [[4, 1000]] as const } };

describe('measured peers', () => {
  it('make the model by which a worker chooses, where all workers read alike from the source', () => {
    const model = peerModelOf(measured, 4);
    // 1 MB at 200 MB/s alone, and at 400 MB/s with three others.
    expect([model.peerMs(1e6, 1), model.peerMs(1e6, 4)]).toEqual([5, 10]);
    // Of four workers with a read each, and with two.
    expect([model.sourceMs(1e6, 1), model.sourceMs(1e6, 2)]).toEqual([40, 80]);
  });

  it('are b_c of a system, unless another one is planned', () => {
    expect(systemOf(measured, { workers: 4, staging, tiers: [] }).networkMBps).toBe(400);
    expect(systemOf(measured, { workers: 4, staging, tiers: [], networkMBps: 7 }).networkMBps).toBe(7);
  });

  it('are needed', () => {
    const without = { ...measured, peers: undefined };
    expect(() => peerModelOf(without, 4)).toThrow(/calibrate --peers/);
    expect(() => systemOf(without, { workers: 4, staging, tiers: [] })).toThrow(/networkMBps/);
  });
});
