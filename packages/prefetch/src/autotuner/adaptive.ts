import type { Autotuner } from './autotuner.js';
export function adaptiveAutotuner(): Autotuner {
  return {
    name: 'adaptive',
    begin: (limits) => ({
      tuning: { producers: limits.fixed.producers ?? 8, memoryBytes: limits.memoryBytes, samples: Infinity },
      reason: 'x',
      nextInMs: undefined,
    }),
    decide: (o) => ({ tuning: o.tuning, reason: 'x', nextInMs: undefined }),
  };
}
