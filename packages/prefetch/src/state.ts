import { configError } from '@tiered/core/internal';
import type { Access, AccessSequence } from './sequence/access-sequence.js';
import { fingerprintOf } from './sequence/fingerprint.js';

/** Accesses that consumers took out of the order of a sequence. */
interface TakenByName {
  /** Taken accesses after the first one that is not taken, as [epoch, position]. */
  readonly taken: readonly (readonly [number, number])[];
  /** Objects that consumers read by name before they were admitted, and how often. */
  readonly early: Readonly<Record<string, number>>;
}

/** The position where reading starts, and later accesses that consumers have already taken. */
export interface StartPosition extends TakenByName {
  /** The first access that no consumer has taken. The end of the sequence is epoch `epochs`, position 0. */
  readonly epoch: number;
  readonly position: number;
}

/** A position in a sequence: `next` is the first access that no consumer has taken, undefined at the end. */
export interface SequencePosition extends TakenByName {
  readonly next: Access | undefined;
}

/** The beginning of every sequence. */
export const BEGINNING: StartPosition = Object.freeze({ epoch: 0, position: 0, taken: [], early: {} });

/**
 * The position of a prefetcher in its sequence: plain data, to be saved as JSON with a checkpoint. Two kinds
 * of samples count as taken although no consumer received them: those dropped because consumers that read by
 * name did not ask for them (`stats().dropped`), and those skipped because they could not be read.
 */
export interface PrefetcherState extends StartPosition {
  readonly version: 1;
  /** The sequence it belongs to, or the beginning of one with more epochs. */
  readonly epochs: number;
  readonly epochLength: number;
  /**
   * A hash of the accesses, so that the state cannot resume another sequence. If all epochs together have at
   * most 4,096 accesses, it covers all keys in order; otherwise the keys at 4,096 evenly spread positions of
   * `epoch`. In a longer epoch, a key that was replaced by another may go unnoticed. Missing in states made
   * by samplers, which know no keys; it is then not compared.
   */
  readonly accesses?: string | undefined;
}

/**
 * Checks a state that comes from outside.
 * @param name Its name in errors.
 * @throws TieredError `TIERED_CONFIG_INVALID` if it is not a state, or belongs to another sequence.
 */
export function assertState(
  state: PrefetcherState,
  sequence: Pick<AccessSequence, 'epochs' | 'epochLength'>,
  name: string,
): void {
  if (typeof state !== 'object' || (state as object | null) === null)
    throw configError(name, 'what prefetcher.state() gave', state);
  const { version, epoch, position, taken, early, epochs, epochLength } = state;
  if (version !== 1) throw configError(`${name}.version`, '1', version);
  // The hash of a state cannot be recomputed with fewer epochs than it was made for.
  if (!isIndex(epochs - 1, sequence.epochs))
    throw configError(`${name}.epochs`, `1 to ${sequence.epochs}, the epochs of the sequence`, epochs);
  if (epochLength !== sequence.epochLength)
    throw configError(`${name}.epochLength`, `${sequence.epochLength}, as the sequence has`, epochLength);
  // A state at the end of its own epochs still has the added ones left.
  if (!isIndex(epoch, epochs + 1)) throw configError(`${name}.epoch`, `0 to ${epochs}`, epoch);
  if (!isIndex(position, epochLength + 1))
    throw configError(`${name}.position`, `0 to ${epochLength}`, position);
  const areTaken =
    Array.isArray(taken) &&
    taken.every(([e, p]: readonly unknown[]) => isIndex(e, epochs) && isIndex(p, epochLength));
  if (!areTaken) throw configError(`${name}.taken`, 'pairs of epoch and position', taken);
  const isEarly = typeof early === 'object' && early !== null;
  if (!isEarly || !Object.values(early).every((count) => isIndex(count, Infinity)))
    throw configError(`${name}.early`, 'counts by key', early);
}

/**
 * Checks that a state belongs to this sequence, and not to one with another seed or other keys.
 * @param name Its name in errors.
 * @throws TieredError `TIERED_CONFIG_INVALID` if it does not.
 */
export function assertSameAccesses(
  { accesses, epoch, epochs }: PrefetcherState,
  sequence: AccessSequence,
  name: string,
): void {
  if (accesses === undefined || accesses === fingerprintOf(sequence, epoch, epochs)) return;
  throw configError(
    `${name}.accesses`,
    'the state of a sequence with the same keys, order and seed',
    accesses,
  );
}

/**
 * Returns the accesses of a sequence that are left at this state. The state may be of this sequence, or of
 * one that has fewer epochs and is otherwise the same.
 * @param name The name of the state in errors.
 * @throws TieredError `TIERED_CONFIG_INVALID` if `state` is not a state, or belongs to another sequence.
 */
export function remainingOf(
  sequence: AccessSequence,
  state: PrefetcherState,
  name: string,
): Iterable<Access> {
  assertState(state, sequence, name);
  assertSameAccesses(state, sequence, name);
  const { epoch, position } = state;
  return { [Symbol.iterator]: () => sequence.from(epoch, position) };
}

/**
 * Returns a position from which these accesses are read again, because they were taken but not delivered.
 * Costs a walk from the first of them to `position`.
 */
export function withGivenBack(
  position: SequencePosition,
  givenBack: Iterable<Access>,
  sequence: AccessSequence,
): SequencePosition {
  const placeOf = ({ epoch, position }: Access) => epoch * sequence.epochLength + position;
  const back = new Map([...givenBack].map((access) => [placeOf(access), access]));
  const first = Math.min(...back.keys());
  const next = back.get(first);
  if (next === undefined) return position;
  const end = position.next === undefined ? Infinity : placeOf(position.next);
  const taken: (readonly [number, number])[] = [];
  for (const access of sequence.from(next.epoch, next.position)) {
    if (placeOf(access) >= end) break;
    if (!back.has(placeOf(access))) taken.push([access.epoch, access.position]);
  }
  return { ...position, next, taken: [...taken, ...position.taken] };
}

function isIndex(value: unknown, count: number): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) < count;
}
