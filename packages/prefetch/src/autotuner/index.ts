/**
 * Autotuners, which choose how many producers read ahead and how much memory they fill: the contract, and the
 * implementations.
 * @module
 */
export { adaptiveAutotuner, type AdaptiveAutotunerOptions } from './adaptive.js';
export {
  type Autotuner,
  type Tuning,
  type TuningDecision,
  type TuningEvent,
  type TuningLimits,
  type TuningObservation,
} from './autotuner.js';
export { prismaAutotuner, type PrismaAutotunerOptions } from './prisma.js';
