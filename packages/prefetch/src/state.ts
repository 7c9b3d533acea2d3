import { configError } from '@tiered/core/internal';
import type { Access, AccessSequence } from './sequence/access-sequence.js';
import { fingerprintOf } from './sequence/fingerprint.js';
import type { SequencePosition, StartPosition } from './sequence/position.js';

/**
 * Where a prefetcher stands in its sequence: plain data, to be kept as JSON with a checkpoint. What consumers
 * by name left out, so that it was given up (`stats().dropped`), and what could not be read and was skipped,
 * counts as taken.
 */
export interface PrefetcherState extends StartPosition {
  readonly version: 1;
  /** The sequence it belongs to. */
  readonly epochs: number;
  readonly epochLength: number;
  /**
   * A hash of what that sequence reads, so that no other is resumed with it: of all keys in their order where
   * these are 4,096 at most in all epochs together, else of those at so many places of `epoch`, evenly spread
   * (a longer epoch may have a key replaced by another in its place unnoticed). Missing in what samplers
   * make, which know no keys: then it is not compared.
   */
  readonly accesses?: string | undefined;
}

/**
 * Checks a state that came from outside.
 * @param name What errors call it.
 * @throws TieredError `TIERED_CONFIG_INVALID` if it is none, or one of another sequence.
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
  if (epochs !== sequence.epochs)
    throw configError(`${name}.epochs`, `${sequence.epochs}, as the sequence has`, epochs);
  if (epochLength !== sequence.epochLength)
    throw configError(`${name}.epochLength`, `${sequence.epochLength}, as the sequence has`, epochLength);
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
 * Checks that a state belongs to this sequence, and not to one of another seed or with other keys.
 * @param name What errors call it.
 * @throws TieredError `TIERED_CONFIG_INVALID` if it does not.
 */
export function assertSameAccesses(
  { accesses, epoch }: PrefetcherState,
  sequence: AccessSequence,
  name: string,
): void {
  if (accesses === undefined || accesses === fingerprintOf(sequence, epoch)) return;
  throw configError(
    `${name}.accesses`,
    'the state of a sequence with the same keys, order and seed',
    accesses,
  );
}

/**
 * What is left of a sequence where a prefetcher of it stood.
 * @param name What errors call the state.
 * @throws TieredError `TIERED_CONFIG_INVALID` if it is no state, or one of another sequence.
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
 * A position from which these accesses come once more: they were taken, and given to nobody. Costs a walk
 * from the first of them to the position.
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
