import type { Random } from '@tiered/core';

/** Which sample a transform is given. */
export interface SampleContext {
  readonly epoch: number;
  /** The key of the object that the sample is in. */
  readonly key: string;
  /** The part of the loader that the sample comes from: its index in the list of parts. */
  readonly part: number;
  /** The number of the sample in its sample set. */
  readonly sample: number;
  /**
   * Random numbers for augmentation. The seed, the epoch and the sample decide them, so that they are the
   * same for any number of workers, and after a resume.
   */
  readonly random: Random;
}

/**
 * Makes what a training reads out of a sample: decodes an image, augments it, tokenises a text. What it is
 * given may be a view on memory that is used again: return something else, or views only if the batch is
 * used up before the next one.
 */
export type Transform<S = unknown, T = unknown> = (sample: S, context: SampleContext) => T | Promise<T>;

/** Makes the data of a batch out of its samples, such as one array of all of them. */
export type Collate<T = unknown, C = unknown> = (samples: readonly T[]) => C | Promise<C>;

/** A function of a module, for worker threads. */
export interface ModuleFunction {
  /** The URL or the absolute path of the module, such as `new URL('./decode.js', import.meta.url)`. */
  readonly module: string | URL;
  /** Its name. Default: `default`. */
  readonly export?: string | undefined;
}

/** Whether a function is to be loaded from a module. */
export function isOfModule(given: unknown): given is ModuleFunction {
  return typeof given === 'object' && given !== null && 'module' in given;
}
