import { systemClock, type Clock, type OperationOptions } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import type { AccessSequence } from '../sequence/access-sequence.js';
import { fingerprintOf } from '../sequence/fingerprint.js';
import { assertSameAccesses, assertState, type PrefetcherState } from '../state.js';
import { samplerSequence, type Sampler } from './sampler.js';

/** Options of `redistribute`. */
export interface RedistributeOptions extends OperationOptions {
  /** The sampler that the states belong to. */
  readonly from: Sampler;
  /** The sampler to go on with. It differs from `from` only in the number of workers. */
  readonly to: Sampler;
  /** The key of each sample's object, as given to `samplerSequence`. */
  readonly keys: ArrayLike<string>;
  /** Lets the event loop turn. Default: the system clock. */
  readonly clock?: Clock | undefined;
}

/**
 * Converts the states of N prefetchers, one for each worker, into states of M. Each of the N may be at any
 * position. The M then read what the N had left, each access once, in the same global order. Use it for data
 * that must be counted exactly. A training that does its global batches in step keeps a `GlobalCheckpoint`,
 * and needs only `stateAfter`.
 *
 * It is meant for samplers whose epochs read every sample once. Samplers may repeat samples or leave some
 * out, as `torchDistributedSampler` does to divide evenly. In later epochs, `to` then determines which
 * samples are repeated or left out.
 *
 * Draws the epochs between the first and the last of the workers, for both samplers, one after the other, and
 * takes 4 bytes per sample. The event loop turns between epochs. If consumers had read objects by name before
 * their turn (`state.early`), it goes on until it has found that turn. A state grows with the accesses that
 * workers further ahead have taken.
 * @param states States by worker of `from`.
 * @returns States by worker of `to`, for the option `resume` of a `Prefetcher` with the `samplerSequence` of
 * that worker.
 * @throws TieredError `TIERED_CONFIG_INVALID` for states that do not belong to `from` with these keys
 * (another worker, seed or order), or samplers that differ in more than the workers. The keys of states made
 * by samplers are not compared, as samplers know none.
 * @throws The signal's reason, as soon as the epoch that is being drawn is done.
 */
export async function redistribute(
  states: readonly PrefetcherState[],
  { from, to, keys, signal, clock = systemClock }: RedistributeOptions,
): Promise<readonly PrefetcherState[]> {
  assertSame(states, { from, to, keys });
  for (const [worker, state] of states.entries()) {
    signal?.throwIfAborted();
    assertSameAccesses(state, samplerSequence(from, worker, keys), `states[${worker}]`);
    await clock.turn();
  }
  const before = states.map((state, worker) => new WorkerLeft(state, worker));
  const after = Array.from({ length: to.workers }, (_, worker) => new WorkerResumed(worker));
  let epoch = Math.min(...states.map((state) => state.epoch));
  for (; before.some((worker) => worker.isInside(epoch)) && epoch < from.epochs; epoch++) {
    signal?.throwIfAborted();
    const left = new Uint32Array(from.samples);
    for (const worker of before) worker.count(from, epoch, keys, left);
    for (const worker of after) worker.claim(to, epoch, left);
    await clock.turn();
  }
  const resumed: PrefetcherState[] = [];
  for (const [worker, { next, taken }] of after.entries()) {
    signal?.throwIfAborted();
    resumed.push(stateOf(samplerSequence(to, worker, keys), next ?? [epoch, 0], taken));
    await clock.turn();
  }
  return resumed;
}

function assertSame(
  states: readonly PrefetcherState[],
  { from, to, keys }: Pick<RedistributeOptions, 'from' | 'to' | 'keys'>,
): void {
  if (states.length !== from.workers)
    throw configError('states', `${from.workers} states, one for each worker`, states.length);
  if (to.samples !== from.samples) throw configError('to.samples', `${from.samples}`, to.samples);
  if (to.epochs !== from.epochs) throw configError('to.epochs', `${from.epochs}`, to.epochs);
  if (keys.length !== from.samples) throw configError('keys', `${from.samples} keys`, keys.length);
  for (const [worker, state] of states.entries())
    assertState(state, { epochs: from.epochs, epochLength: from.epochLength(worker) }, `states[${worker}]`);
}

/** The accesses that a worker had left when it stopped. */
class WorkerLeft {
  readonly #worker: number;
  readonly #state: PrefetcherState;
  /** Positions that were taken after the first one that was not, by epoch. */
  readonly #taken = new Map<number, Set<number>>();
  /** Reads by name whose turn has not been found yet. */
  readonly #early: Map<string, number>;

  constructor(state: PrefetcherState, worker: number) {
    this.#worker = worker;
    this.#state = state;
    for (const [epoch, position] of state.taken) {
      const positions = this.#taken.get(epoch) ?? new Set();
      this.#taken.set(epoch, positions.add(position));
    }
    this.#early = new Map(Object.entries(state.early).filter(([, count]) => count > 0));
  }

  /** Whether it has taken anything of this epoch, or of a later one. */
  isInside(epoch: number): boolean {
    const { epoch: at, position } = this.#state;
    const isBefore = epoch < at || (epoch === at && position > 0);
    return isBefore || this.#early.size > 0 || [...this.#taken.keys()].some((taken) => taken >= epoch);
  }

  /** Counts what the worker had left of an epoch, by sample. Call it for epochs in order. */
  count(sampler: Sampler, epoch: number, keys: ArrayLike<string>, left: Uint32Array): void {
    const { epoch: at, position: next } = this.#state;
    const samples = sampler.epoch(this.#worker, epoch);
    const taken = this.#taken.get(epoch);
    const start = epoch > at ? 0 : epoch === at ? next : samples.length;
    for (let position = start; position < samples.length; position++) {
      const sample = samples[position] ?? 0;
      if (taken?.has(position) === true || this.#wasEarly(keys[sample] ?? '')) continue;
      left[sample] = (left[sample] ?? 0) + 1;
    }
  }

  #wasEarly(key: string): boolean {
    const count = this.#early.size === 0 ? 0 : (this.#early.get(key) ?? 0);
    if (count === 1) this.#early.delete(key);
    else if (count > 1) this.#early.set(key, count - 1);
    return count > 0;
  }
}

/** The position where a worker resumes. */
class WorkerResumed {
  readonly #worker: number;
  /** The first access that is left; undefined if none is left in the epochs claimed so far. */
  next: readonly [number, number] | undefined;
  readonly taken: [number, number][] = [];

  constructor(worker: number) {
    this.#worker = worker;
  }

  /** Takes the worker's own accesses from what was left of an epoch. */
  claim(sampler: Sampler, epoch: number, left: Uint32Array): void {
    for (const [position, sample] of sampler.epoch(this.#worker, epoch).entries()) {
      const count = left[sample] ?? 0;
      if (count > 0) {
        left[sample] = count - 1;
        this.next ??= [epoch, position];
      } else if (this.next !== undefined) this.taken.push([epoch, position]);
    }
  }
}

function stateOf(
  sequence: AccessSequence,
  [epoch, position]: readonly [number, number],
  taken: PrefetcherState['taken'],
): PrefetcherState {
  const { epochs, epochLength } = sequence;
  const accesses = fingerprintOf(sequence, epoch);
  return { version: 1, epoch, position, taken, early: {}, epochs, epochLength, accesses };
}
