import type { FetchModel } from '@tiered/core';

/** A source that nobody has measured: a shared file system, or an object store. */
const LATENCY_MS = 5;
const BYTES_PER_MS = 100_000;

/**
 * What a copy saves each time it is read, in milliseconds: the one rule of worth, for loaders and for who
 * plans ahead of them. By what was measured, if the model says it (`tiered calibrate`, and `model` in a
 * configuration). Else 5 ms and 100 MB/s: small objects come first, as they cost a source its latency for few
 * bytes.
 *
 * The reads of the process itself are not asked. Workers that compute each other's plans (`clusterPlan`), and
 * a command that fills tiers ahead of a training, have to find the same worth, and no two processes measure
 * the same. A loader also plans before its first read. And the time of a read includes its wait among the
 * others under way, whereas a copy saves only a share of the latency. So measure once, by `tiered calibrate`,
 * and give all of them that profile.
 */
export function savedMsBy(model: FetchModel | undefined): (bytes: number) => number {
  return (bytes) => model?.savedMs?.(bytes) ?? LATENCY_MS + bytes / BYTES_PER_MS;
}
