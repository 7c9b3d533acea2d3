import { ManualClock } from '@tiered/core/testing';
import { expect, it } from 'vitest';
import type { Sample } from '../../src/sample.js';
import { Waiters } from '../../src/staging/waiters.js';

it('[P6] who is just being served gets the sample, though what is taken makes the next one fail', async () => {
  const waiters = new Waiters(new ManualClock(), () => undefined);
  const wanted = { most: 1, epoch: undefined };
  const [first, second] = [waiters.wait(wanted, undefined), waiters.wait(wanted, undefined)];
  const failed = expect(second).rejects.toThrow('the next one');
  const sample = { key: 'there' } as Sample;
  const left = [sample];
  const collect = (): readonly Sample[] => {
    const given = left.splice(0, 1);
    if (given.length === 0) throw new Error('the next one cannot be read');
    // As when memory that becomes free lets something be admitted that cannot be read.
    waiters.serve(collect);
    return given;
  };
  waiters.serve(collect);
  expect(await first).toEqual([sample]);
  await failed;
  expect(waiters.count).toBe(0);
});

it('[P2] who is just being served does not wait, so that nothing is read beyond the memory for it', async () => {
  const waiters = new Waiters(new ManualClock(), () => undefined);
  const waiting = [1, 2].map(() => waiters.wait({ most: 1, epoch: undefined }, undefined));
  const counts: number[] = [];
  const left = [{ key: 'first' }, { key: 'second' }] as Sample[];
  waiters.serve(() => {
    counts.push(waiters.count);
    return left.splice(0, 1);
  });
  expect([...counts, waiters.count]).toEqual([1, 0, 0]);
  expect((await Promise.all(waiting)).flat().map(({ key }) => key)).toEqual(['first', 'second']);
});
