import type { Hierarchy } from '@tiered/core';
import type { StagingBuffer } from '@tiered/prefetch';
import type { StageRecord } from '../records/stage-record.js';
import type { NodeShare } from '../shares/node-shares.js';
import type { Consumed } from './demand.js';

/** Tiers in a record: more would not fit, and nobody has as many. */
const MOST_TIERS = 16;
/** A name in a record has at most so many characters; the end of a path tells more than its beginning. */
const LONGEST_NAME = 256;

/** The staging buffers and hierarchies of a stage: what they say, and what they are told. */
export class Followed {
  readonly #buffers = new Set<StagingBuffer>();
  readonly #hierarchies = new Set<Hierarchy>();
  /** What buffers had done that are followed no more. */
  #former: Consumed = NOTHING;
  #last: Consumed = NOTHING;
  #isBounded = false;

  /** Follows a buffer. Returns what stops that. */
  add(buffer: StagingBuffer): () => void {
    this.#buffers.add(buffer);
    return () => {
      if (!this.#buffers.delete(buffer)) return;
      this.#former = sum(this.#former, consumedOf(buffer));
      buffer.bound({});
    };
  }

  /** Shows the tiers of a hierarchy. Returns what stops that. */
  addTiers(hierarchy: Hierarchy): () => void {
    this.#hierarchies.add(hierarchy);
    return () => this.#hierarchies.delete(hierarchy);
  }

  /** Bounds nothing any more, and follows nobody. */
  clear(): void {
    for (const buffer of this.#buffers) buffer.bound({});
    this.#buffers.clear();
    this.#hierarchies.clear();
  }

  /** What consumers did since the beginning. Undefined if no buffer is followed. */
  consumed(): Consumed | undefined {
    if (this.#buffers.size === 0) return undefined;
    return [...this.#buffers].map(consumedOf).reduce(sum, this.#former);
  }

  /** What a record says of buffers and tiers. */
  report(): Pick<StageRecord, 'memory' | 'producers' | 'stall' | 'tiers'> {
    const tiers = [...this.#hierarchies].flatMap((hierarchy) => hierarchy.stats().tiers).slice(0, MOST_TIERS);
    const entries = tiers.map(({ driver, usedBytes, quotaBytes }) => [
      driver.replaceAll(/\p{C}/gu, '?').slice(-LONGEST_NAME),
      { used: usedBytes, most: quotaBytes },
    ]);
    return { ...this.#buffersNow(), tiers: Object.fromEntries(entries) as StageRecord['tiers'] };
  }

  /** Has the buffers keep to a share of the node, each to its part by the memory that it was given. */
  bound(share: NodeShare | undefined): void {
    const { memory = Infinity, producers = Infinity } = share ?? {};
    const isBounded = memory !== Infinity || producers !== Infinity;
    if (!isBounded && !this.#isBounded) return;
    this.#isBounded = isBounded;
    const all = [...this.#buffers].reduce((bytes, { memoryBytes }) => bytes + memoryBytes, 0);
    for (const buffer of this.#buffers) {
      const part = buffer.memoryBytes / all;
      buffer.bound({ memory: partOf(memory, part), concurrency: partOf(producers, part) });
    }
  }

  #buffersNow(): Pick<StageRecord, 'memory' | 'producers' | 'stall'> {
    const consumed = this.consumed();
    if (consumed === undefined) return {};
    const last = this.#last;
    this.#last = consumed;
    const starvedMs = consumed.starvedMs - last.starvedMs;
    const ms = starvedMs + consumed.computedMs - last.computedMs;
    let [memory, producers] = [NO_USE, NO_USE];
    for (const buffer of this.#buffers) {
      const { tuning, limits } = buffer.profile();
      memory = { used: memory.used + tuning.memoryBytes, most: memory.most + limits.memoryBytes };
      producers = { used: producers.used + tuning.producers, most: producers.most + limits.producers };
    }
    return { memory, producers, stall: ms > 0 ? Math.min(1, Math.max(0, starvedMs / ms)) : 0 };
  }
}

const NOTHING: Consumed = { bytes: 0, computedMs: 0, starvedMs: 0 };
const NO_USE = { used: 0, most: 0 };

function consumedOf(buffer: StagingBuffer): Consumed {
  const { bytes, seconds, starved } = buffer.profile();
  return { bytes, computedMs: seconds * (1 - starved) * 1000, starvedMs: seconds * starved * 1000 };
}

function sum(a: Consumed, b: Consumed): Consumed {
  return {
    bytes: a.bytes + b.bytes,
    computedMs: a.computedMs + b.computedMs,
    starvedMs: a.starvedMs + b.starvedMs,
  };
}

function partOf(amount: number, part: number): number | undefined {
  return amount === Infinity ? undefined : Math.max(1, Math.floor(amount * part));
}
