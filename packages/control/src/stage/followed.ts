import type { Profile, StagingBuffer } from '@tiered/prefetch';
import type { StageRecord } from '../records/stage-record.js';
import type { NodeShare } from '../shares/node-shares.js';
import type { Consumed } from './demand.js';

/** Looks without a read after which a buffer is idle. Consumers may compute for a while. */
const IDLE_LOOKS = 10;

/** A buffer, and its last report. */
interface FollowedBuffer {
  last: Consumed;
  looksAlike: number;
}

/** The present reports of buffers. */
export interface FollowedSays extends Pick<StageRecord, 'memory' | 'producers' | 'stall'> {
  /** Consumer activity since the beginning. Undefined if no buffer is followed. */
  readonly consumed: Consumed | undefined;
}

/** The staging buffers of a stage: their reports and their bounds. */
export class Followed {
  readonly #buffers = new Map<StagingBuffer, FollowedBuffer>();
  /**
   * Consumer activity while the buffers were not idle. Consumers of an idle buffer would seem to compute all
   * the time.
   */
  #consumed: Consumed = NOTHING;
  #isBounded = false;

  /** Follows a buffer. Returns a function that stops it. */
  add(buffer: StagingBuffer): () => void {
    this.#buffers.set(buffer, { last: consumedOf(buffer.profile()), looksAlike: 0 });
    return () => {
      if (this.#buffers.delete(buffer)) buffer.bound({});
    };
  }

  /** Removes all bounds, and follows no buffer any more. */
  clear(): void {
    for (const buffer of this.#buffers.keys()) buffer.bound({});
    this.#buffers.clear();
  }

  /** Reports on all buffers. */
  look(): FollowedSays {
    if (this.#buffers.size === 0) return { consumed: undefined };
    const before = this.#consumed;
    let [memory, producers] = [NO_USE, NO_USE];
    for (const [buffer, followed] of this.#buffers) {
      const profile = buffer.profile();
      this.#count(consumedOf(profile), followed);
      const { tuning, limits } = profile;
      memory = { used: memory.used + tuning.memoryBytes, most: memory.most + limits.memoryBytes };
      producers = { used: producers.used + tuning.producers, most: producers.most + limits.producers };
    }
    const starvedMs = this.#consumed.starvedMs - before.starvedMs;
    const ms = starvedMs + this.#consumed.computedMs - before.computedMs;
    const stall = ms > 0 ? Math.min(1, Math.max(0, starvedMs / ms)) : 0;
    return { consumed: this.#consumed, memory, producers, stall };
  }

  /** Bounds the buffers to a share of the node, each in proportion to the memory it was given. */
  bound(share: NodeShare | undefined): void {
    const { memory = Infinity, producers = Infinity } = share ?? {};
    const isBounded = memory !== Infinity || producers !== Infinity;
    if (!isBounded && !this.#isBounded) return;
    this.#isBounded = isBounded;
    const buffers = [...this.#buffers.keys()];
    const all = buffers.reduce((bytes, { memoryBytes }) => bytes + memoryBytes, 0);
    for (const buffer of buffers) {
      const part = buffer.memoryBytes / all;
      buffer.bound({ memory: partOf(memory, part), concurrency: partOf(producers, part) });
    }
  }

  #count(now: Consumed, followed: FollowedBuffer): void {
    const { last } = followed;
    const isAlike = now.bytes === last.bytes && now.starvedMs === last.starvedMs;
    followed.looksAlike = isAlike ? followed.looksAlike + 1 : 0;
    followed.last = now;
    if (followed.looksAlike < IDLE_LOOKS) this.#consumed = sum(this.#consumed, difference(last, now));
  }
}

const NOTHING: Consumed = { bytes: 0, computedMs: 0, starvedMs: 0 };
const NO_USE = { used: 0, most: 0 };

function consumedOf({ bytes, seconds, starved }: Profile): Consumed {
  return { bytes, computedMs: seconds * (1 - starved) * 1000, starvedMs: seconds * starved * 1000 };
}

function sum(a: Consumed, b: Consumed): Consumed {
  return {
    bytes: a.bytes + b.bytes,
    computedMs: a.computedMs + b.computedMs,
    starvedMs: a.starvedMs + b.starvedMs,
  };
}

function difference(before: Consumed, now: Consumed): Consumed {
  return {
    bytes: now.bytes - before.bytes,
    computedMs: now.computedMs - before.computedMs,
    starvedMs: now.starvedMs - before.starvedMs,
  };
}

function partOf(amount: number, part: number): number | undefined {
  return amount === Infinity ? undefined : Math.max(1, Math.floor(amount * part));
}
