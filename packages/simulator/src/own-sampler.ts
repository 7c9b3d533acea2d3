import { Random } from '@tiered/core';
import type { Sampler } from '@tiered/prefetch';

export function globalBatchSampler(o: { samples: number; epochs: number; seed: number; workers: number; batchSize: number }): Sampler {
  const { samples, epochs, workers, batchSize, seed } = o;
  let at = -1;
  let parts: Uint32Array[] = [];
  const lens = new Array<number>(workers).fill(0);
  let turn = 0;
  const cuts: [number, number, number][] = [];
  for (let from = 0; from < samples; from += batchSize) {
    const size = Math.min(batchSize, samples - from);
    let p = from;
    for (let w = 0; w < workers; w++) {
      const ahead = w < turn ? w + workers - turn : w - turn;
      const n = Math.floor(size / workers) + (ahead < size % workers ? 1 : 0);
      cuts.push([w, p, p + n]);
      p += n;
      lens[w] = (lens[w] ?? 0) + n;
    }
    turn = (turn + (size % workers)) % workers;
  }
  const load = (epoch: number) => {
    if (at === epoch) return;
    const order = new Random(seed, epoch).permutation(samples);
    parts = lens.map((n) => new Uint32Array(n));
    const next = lens.map(() => 0);
    for (const [w, a, b] of cuts) {
      (parts[w] as Uint32Array).set(order.subarray(a, b), next[w]);
      next[w] = (next[w] ?? 0) + b - a;
    }
    at = epoch;
  };
  return {
    samples, epochs, workers,
    epochLength: (w) => lens[w] ?? 0,
    epoch: (w, e) => (load(e), parts[w] as Uint32Array),
    at: (w, e, p) => (load(e), parts[w]?.[p] ?? 0),
  };
}
