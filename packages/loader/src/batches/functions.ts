import type { Random } from '@tiered/core';

/** The sample that a transform is called with. */
export interface SampleContext {
  readonly epoch: number;
  /** The key of the object that the sample is in. */
  readonly key: string;
  /** The part of the loader that the sample comes from: its index in the list of parts. */
  readonly part: number;
  /** The number of the sample in its sample set. */
  readonly sample: number;
  /**
   * Random numbers for augmentation. They depend on the seed, the epoch and the sample, so they are the same
   * for any number of workers, and after a resume.
   */
  readonly random: Random;
}

/**
 * Transforms a sample for a training: decodes an image, augments it, tokenises a text. The sample may be a
 * view of memory that is reused. Return new memory, or return views only if the batch is used up before the
 * next one.
 */
export type Transform<S = unknown, T = unknown> = (sample: S, context: SampleContext) => T | Promise<T>;

/** Combines samples into the data of a batch, such as one array of all of them. */
export type Collate<T = unknown, C = unknown> = (samples: readonly T[]) => C | Promise<C>;

/** A function of a module, for worker threads. */
export interface ModuleFunction {
  /** The URL or the absolute path of the module, such as `new URL('./decode.js', import.meta.url)`. */
  readonly module: string | URL;
  /** The name of the export. Default: `default`. */
  readonly export?: string | undefined;
}

/** Whether a function has to be loaded from a module. */
export function isOfModule(given: unknown): given is ModuleFunction {
  return typeof given === 'object' && given !== null && 'module' in given;
}
