import type { Hierarchy, HierarchyStats, Namespace, OperationOptions, ReadOutcome } from '@tiered/core';

/**
 * What a prefetcher reads from: a `Hierarchy`, or what can stand for one. All of the following may be
 * missing. `namespace` saves a promise for each object whose size is known, and tells levels apart.
 * `readMany` saves a promise for each small object. `readsAtOnce` saves the autotuner the search for more
 * producers than can be of use. `stats` has the figures by level. `name` is for traces.
 */
export interface SampleSource extends Pick<Hierarchy, 'readInto'> {
  readonly name?: string | undefined;
  /** Returns size and version of an object. */
  stat(
    key: string,
    options: OperationOptions,
  ): Promise<{ readonly size: number; readonly version?: string | undefined }>;
  readonly readsAtOnce?: number | undefined;
  readonly namespace?: (Pick<Namespace, 'find' | 'sizeOf'> & Partial<Pick<Namespace, 'levelOf'>>) | undefined;
  /** Reads whole objects into their targets, as one call. An outcome each, in the order of the requests. */
  readMany?(
    requests: readonly { readonly key: string; readonly target: Uint8Array }[],
    options: OperationOptions,
  ): Promise<readonly ReadOutcome[]>;
  /** Returns counts by level since the start. */
  stats?(): HierarchyStats;
}

/** Returns the bytes of an object, or undefined if its size is not known without asking the source. */
export function sizeOf({ namespace }: SampleSource, key: string): number | undefined {
  const id = namespace?.find(key) ?? -1;
  return id === -1 ? undefined : namespace?.sizeOf(id);
}
