import type { Access } from './access-sequence.js';

/** What consumers took of a sequence out of its order. */
interface TakenByName {
  /** Accesses behind the first one that is not taken, as [epoch, position]. */
  readonly taken: readonly (readonly [number, number])[];
  /** Objects that consumers read by name before they were admitted, and how often. */
  readonly early: Readonly<Record<string, number>>;
}

/** Where reading of a sequence starts, and what consumers already had of the rest. */
export interface StartPosition extends TakenByName {
  /** The first access that no consumer has taken. The end of the sequence is epoch `epochs`, position 0. */
  readonly epoch: number;
  readonly position: number;
}

/** Where a sequence stands: `next` is the first access that no consumer has taken, undefined at the end. */
export interface SequencePosition extends TakenByName {
  readonly next: Access | undefined;
}

/** The beginning of every sequence. */
export const BEGINNING: StartPosition = Object.freeze({ epoch: 0, position: 0, taken: [], early: {} });
