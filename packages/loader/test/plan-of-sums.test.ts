import { readsToCome, type DescribedSequence } from '@tiered/prefetch/sampling';
import { frequencyPlan, UNPLANNED } from '@tiered/tiering/plans';
import fc from 'fast-check';
import { expect, it } from 'vitest';

const OBJECTS = 60;

const sequence = fc
  .record({
    samples: fc.integer({ min: 1, max: OBJECTS }),
    offset: fc.nat(),
    seed: fc.nat({ max: 1000 }),
    epochs: fc.integer({ min: 1, max: 12 }),
    at: fc.nat(),
    workers: fc.integer({ min: 1, max: 4 }),
  })
  .map(({ offset, at, ...one }): DescribedSequence => ({
    ...one,
    ...{ sampler: 'rank', batchSize: 1, dropLast: false },
    first: offset % (OBJECTS - one.samples + 1),
    epoch: at % one.epochs,
    worker: at % one.workers,
  }));

function planFor(frequency: Float64Array, room: number): Uint8Array {
  const first = Uint32Array.from(frequency.keys());
  return frequencyPlan({ frequency, first, sizes: new Uint8Array(OBJECTS).fill(1), quotas: [room] });
}

it('[U11] of equal objects, the plan of all reads serves as many as any can, and as the plan of one job', async () => {
  const jobs = fc.array(sequence, { minLength: 2, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(jobs, fc.integer({ min: 0, max: OBJECTS }), async (sequences, room) => {
      const all = await readsToCome(sequences, { samples: OBJECTS });
      const served = (plan: Uint8Array) =>
        all.reduce((sum, reads, object) => sum + (plan[object] === UNPLANNED ? 0 : reads), 0);
      const together = served(planFor(all, room));
      const most = [...all].sort((a, b) => b - a).slice(0, room);
      expect(together).toBe(most.reduce((sum, reads) => sum + reads, 0));
      for (const one of sequences) {
        const own = await readsToCome([one], { samples: OBJECTS });
        expect(served(planFor(own, room))).toBeLessThanOrEqual(together);
      }
    }),
    { numRuns: 100 },
  );
});
