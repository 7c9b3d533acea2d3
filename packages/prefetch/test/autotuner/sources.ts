import { Random } from '@tiered/core';
import { between } from '../../src/autotuner/limits.js';

/** Where a read spends its time: first alone, then at what all reads share. */
export interface Source {
  /** The latency of the next read. */
  latencyMs(): number;
  /** When a read of so many bytes leaves what is shared, if it gets there now. */
  sharedUntil(now: number, bytes: number): number;
}

/** A latency, and a link of so many bytes a second that reads pass one after the other. */
export function link(latencyMs: number, bytesPerSecond: number): Source {
  return onLink(() => latencyMs, bytesPerSecond);
}

/** As `link`, with log-normal latencies whose 99th percentile is ten times the median. */
export function jitteredLink(medianMs: number, bytesPerSecond: number, seed: number): Source {
  const random = new Random(seed);
  // 2.326 standard deviations are the 99th percentile of a normal distribution.
  const sigma = Math.log(10) / 2.326;
  return onLink(() => medianMs * Math.exp(sigma * normal(random)), bytesPerSecond);
}

/** Reads that cost CPU time and nothing else, on a machine with so many cores. */
export function cpu(cores: number, costMs: number): Source {
  const freeAt = new Array<number>(cores).fill(0);
  return {
    latencyMs: () => 0,
    sharedUntil(now) {
      const first = freeAt.indexOf(Math.min(...freeAt));
      const end = Math.max(now, freeAt[first] ?? 0) + costMs;
      freeAt[first] = end;
      return end;
    },
  };
}

/**
 * A latency, then something that reads pass one after the other, each in `costMs`; in more, up to four times
 * that, with more than `harmless` reads before it, as at a disk that seeks from one to the other.
 */
export function crowded(latencyMs: number, costMs: number, harmless: number): Source {
  let ends: number[] = [];
  return {
    latencyMs: () => latencyMs,
    sharedUntil(now) {
      ends = ends.filter((end) => end > now);
      const end = Math.max(now, ends.at(-1) ?? 0) + costMs * between(1, ends.length / harmless, 4);
      ends.push(end);
      return end;
    },
  };
}

function onLink(latencyMs: () => number, bytesPerSecond: number): Source {
  let freeAt = 0;
  return {
    latencyMs,
    sharedUntil(now, bytes) {
      freeAt = Math.max(now, freeAt) + (1000 * bytes) / bytesPerSecond;
      return freeAt;
    },
  };
}

function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random.unit())) * Math.cos(2 * Math.PI * random.unit());
}
