import { expect, it } from 'vitest';
import { meansOverTime, shareOfTime } from '../bench/prefetch/steps.js';

const steps = [
  { atMs: 0, value: 0 },
  { atMs: 10, value: 2 },
  { atMs: 40, value: 1 },
  { atMs: 60, value: 0 },
];

it('weighs the counts of a bench by how long they held', () => {
  // 0 for 50 ms of 100, 1 for 20, 2 for 30.
  expect(shareOfTime(steps, 100)).toEqual([0.5, 0.7, 1]);
});

it('means values of a bench over windows of time', () => {
  expect(meansOverTime(steps, 100, 20)).toEqual([1, 2, 1, 0, 0]);
});

it('means what is left of a run as a window of its own', () => {
  expect(meansOverTime(steps, 50, 20)).toEqual([1, 2, 1]);
});

it('leaves out what came after the end of a run', () => {
  expect(shareOfTime(steps, 50)).toEqual([0.2, 0.4, 1]);
});

it('means over windows whose ends are rounded', () => {
  const windowMs = 1000 / 150 / 7;
  const each = Array.from({ length: 1050 }, (_, i) => ({ atMs: i * windowMs, value: 1 }));
  for (const mean of meansOverTime(each, 1000, windowMs)) expect(mean).toBeCloseTo(1);
});
