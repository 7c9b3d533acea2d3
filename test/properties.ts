import original, { type IRawProperty, type Parameters } from '../node_modules/fast-check/lib/fast-check.js';

/** The runs of a property that does not say how many. */
const DEFAULT_RUNS = 100;
/** Outside of CI, one of so many runs. */
const PART = process.env['CI'] === 'true' ? 1 : 5;

/**
 * What tests get when they import fast-check (`vitest.config.ts`). Outside of CI, a property is tried with a
 * fifth of its cases: the first of those that CI tries. A replay (`path`) runs as it is told.
 */
function assert<Ts>(property: IRawProperty<Ts>, parameters?: Parameters<Ts>): void | Promise<void> {
  const { numRuns = DEFAULT_RUNS, path = '' } = parameters ?? {};
  const runs = path === '' ? Math.ceil(numRuns / PART) : numRuns;
  return original.assert(property, { ...parameters, numRuns: runs });
}

export default { ...original, assert };
