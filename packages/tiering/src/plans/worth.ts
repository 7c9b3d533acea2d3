import type { FetchModel } from '@tiered/core';

/** A source that nobody has measured: a shared file system, or an object store. */
const LATENCY_MS = 5;
const BYTES_PER_MS = 100_000;

/**
 * What a copy saves each time it is read, in milliseconds: the one rule of worth, for loaders and for who
 * plans ahead of them. By what was measured, if the model says it (`tiered calibrate`, and `model` in a
 * configuration). Else 5 ms and 100 MB/s: small objects come first, as they cost a source its latency for few
 * bytes.
 */
export function savedMsBy(model: FetchModel | undefined): (bytes: number) => number {
  return (bytes) => model?.savedMs?.(bytes) ?? LATENCY_MS + bytes / BYTES_PER_MS;
}
