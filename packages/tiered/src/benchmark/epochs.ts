import { statsBetween, type Clock, type HierarchyStats } from '@tiered/core';
import type { Dataset } from '../dataset/dataset.js';
import { endingSignal } from '../within.js';
import type { EpochResult, PlaceResult } from './result.js';

/** How epochs are read. */
export interface Training {
  readonly dataset: Dataset;
  /** Names of the levels, the source last. */
  readonly names: readonly string[];
  /** Milliseconds, and bytes, after which no further epoch begins. */
  readonly enoughMs: number;
  readonly enoughBytes: number;
  /** Milliseconds after which an epoch is cut off. */
  readonly longestMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Epochs without what bounds them. */
export type EpochFigures = Omit<EpochResult, 'share'>;

/** Epochs of a small sample are short, and are repeated. */
const MOST_EPOCHS = 1000;

/**
 * Reads epochs as a training does that computes nothing, and lets tiers be filled to the end.
 * @param first The number of the first of them, which is read alone if it is 0.
 */
export async function readEpochs(training: Training, first: number): Promise<EpochFigures> {
  const { dataset, names, longestMs, clock, signal } = training;
  const { hierarchy } = dataset;
  const before = hierarchy.stats();
  using ending = endingSignal({ clock, timeoutMs: longestMs, signal });
  const figures = await readUntil(ending.signal, training, first);
  const from = placesOf(statsBetween(before, hierarchy.stats()), names);
  await hierarchy.idle({ signal: ending.signal }).catch(() => signal.throwIfAborted());
  const { source } = statsBetween(before, hierarchy.stats());
  return { ...figures, sourceRequests: source.reads, sourceBytes: source.readBytes, from };
}

/** Reads until there is enough, or the time is over. */
async function readUntil(
  ending: AbortSignal,
  { dataset, enoughMs, enoughBytes, clock, signal }: Training,
  first: number,
): Promise<Pick<EpochFigures, 'name' | 'whole' | 'seconds' | 'samples' | 'bytes' | 'verdict'>> {
  const begun = clock.now();
  const epochs = first === 0 ? 1 : MOST_EPOCHS;
  const prefetcher = dataset.epochs({ seed: first, epochs, signal: ending });
  let [samples, bytes, whole] = [0, 0, 0];
  try {
    while (whole === 0 || (clock.now() - begun < enoughMs && bytes < enoughBytes)) {
      const before = samples;
      for await (const { data } of prefetcher.epoch()) {
        samples += 1;
        bytes += data.byteLength;
      }
      if (samples === before) break;
      whole += 1;
    }
  } catch (error) {
    signal.throwIfAborted();
    if (!ending.aborted) throw error;
  }
  const seconds = (clock.now() - begun) / 1000;
  const { verdict } = prefetcher.profile();
  await prefetcher.close();
  const last = first + Math.max(1, whole) - 1;
  return {
    name: last === first ? `${first}` : `${first} to ${last}`,
    whole,
    seconds,
    samples,
    bytes,
    // Nothing was computed: what is left is the work of this thread.
    verdict: verdict.limit === 'consumer' ? ofThread((1e6 * seconds) / samples) : verdict.text,
  };
}

function ofThread(microseconds: number): string {
  return `The loop hardly waited: the limit is what its thread does itself, ${microseconds.toFixed(0)} us for each sample. A training that computes longer than that with a sample waits for none.`;
}

function placesOf({ tiers, source }: HierarchyStats, names: readonly string[]): Record<string, number> {
  return Object.fromEntries([...tiers, source].map(({ readBytes }, i) => [names[i] ?? '', readBytes]));
}

/**
 * The part that an epoch reached of what its places could have given, had each been read at its bound, one
 * after the other.
 */
export function shareOf(
  { seconds, from }: Pick<EpochFigures, 'seconds' | 'from'>,
  places: readonly Pick<PlaceResult, 'name' | 'bound'>[],
): number | undefined {
  let least = 0;
  for (const [name, bytes] of Object.entries(from)) {
    const bound = places.find((place) => place.name === name)?.bound.MBps;
    if (bytes > 0 && bound === undefined) return undefined;
    if (bytes > 0) least += bytes / 1e6 / (bound ?? Infinity);
  }
  return seconds > 0 ? least / seconds : undefined;
}
