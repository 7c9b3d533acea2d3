/** Reads a simulation from a file. @module */
import { TieredError } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import type { ModelFactory } from '@tiered/core/placement';
import { z } from 'zod';
import { curveSchema as curve, fetchModelOf, parseProfile, positive } from './calibration/profile.js';
import type { Simulation } from './engine/simulate.js';
import { noPfs } from './strategies/no-pfs.js';
import { STRATEGIES } from './strategies/all.js';
import { localityAware } from './strategies/shared-memory.js';
import { MOST_LEVELS, type Strategy } from './strategies/strategy.js';

const count = z.int().positive();

const storageClass = z.strictObject({
  name: z.string().min(1),
  capacityMB: positive,
  threads: count,
  read: curve,
  write: curve.optional(),
  place: curve.optional(),
});

const system = z.strictObject({
  workers: count,
  computeMBps: positive,
  preprocessMBps: positive,
  networkMBps: positive,
  source: curve,
  staging: storageClass,
  levels: z.array(storageClass).max(MOST_LEVELS),
});

const dataset = z.union(
  [
    z.strictObject({
      samples: count,
      meanMB: positive,
      sigmaMB: z.number().min(0).optional(),
      truncate: z.enum(['symmetric', 'redraw', 'clamp']).optional(),
    }),
    z.strictObject({ sizesMB: z.array(z.number().min(0)).min(1) }),
  ],
  { error: 'expected { samples, meanMB, sigmaMB?, truncate? } or { sizesMB }' },
);

const policy = z.union(
  [
    z.string(),
    z.strictObject({
      policy: z.literal('nopfs'),
      filledBy: z.enum(['anyone', 'itself']).optional(),
    }),
    z.strictObject({ policy: z.literal('locality-aware'), keeps: z.enum(['ram', 'all']).optional() }),
  ],
  { error: 'expected the name of a policy, or { policy, ... } with its options' },
);

const document = z.strictObject({
  dataset,
  system,
  epochs: count,
  batchSize: count,
  seed: z.int().min(0).optional(),
  assumptions: z
    .strictObject({
      sourceShare: z.enum(['worker', 'thread']).optional(),
      gamma: z.enum(['average', 'all']).optional(),
    })
    .optional(),
  policies: z.array(policy).min(1).optional(),
});

/** A simulation, and the strategies to compare. */
export interface ParsedSimulation {
  readonly simulation: Simulation;
  /** The strategies. Default: all. */
  readonly strategies: readonly Strategy[];
  /** Whether the document names them. */
  readonly areNamed: boolean;
}

/**
 * Makes a simulation from a JSON document: the fields of `Simulation` without the sampler, and `policies`, a
 * list of names or of objects with options.
 * @throws TieredError `TIERED_CONFIG_INVALID` that names the first invalid field.
 */
export function parseSimulation(value: unknown): ParsedSimulation {
  const parsed = document.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const where = issue?.path.join('.') ?? '';
    throw new TieredError(
      'TIERED_CONFIG_INVALID',
      `${where === '' ? 'simulation' : where}: ${issue?.message ?? 'invalid'}`,
    );
  }
  const { policies, ...simulation } = parsed.data;
  return {
    simulation,
    strategies: policies?.map(strategyOf) ?? STRATEGIES,
    areNamed: policies !== undefined,
  };
}

function strategyOf(named: z.infer<typeof policy>): Strategy {
  if (typeof named === 'string') return strategyNamed(named);
  return named.policy === 'nopfs'
    ? noPfs({ filledBy: named.filledBy ?? 'anyone' })
    : localityAware({ keeps: named.keeps ?? 'ram' });
}

/**
 * Returns the policy with this name on the command line.
 * @throws TieredError `TIERED_CONFIG_INVALID` for an unknown name.
 */
export function strategyNamed(name: string): Strategy {
  const found = STRATEGIES.find((strategy) => strategy.name === name);
  if (found !== undefined) return found;
  throw configError('policies', `one of ${STRATEGIES.map((strategy) => strategy.name).join(', ')}`, name);
}

/** The model of a configuration file: says which place is faster at the moment, based on measurements. */
export const modelFactory: ModelFactory = {
  create: (given, { tiers }) => {
    const profile = parseProfile(given);
    if (profile.tiers.length === tiers) return fetchModelOf(profile);
    throw new TieredError(
      'TIERED_CONFIG_INVALID',
      `expected a profile of as many tiers as there are, ${tiers}, got one of ${profile.tiers.length}; ` +
        'measure again with "tiered calibrate" and this configuration',
    );
  },
};
