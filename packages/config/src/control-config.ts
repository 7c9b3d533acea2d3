import type { ByteSize } from '@tiered/core';
import type { TableConfig, Written } from './registry-config.js';

/** A rate limit. A missing part is unbounded. */
export interface RateSettings {
  readonly bytesPerSecond?: ByteSize | undefined;
  readonly operationsPerSecond?: number | undefined;
}

/** The parsed settings of a process's job: numbers are numbers, and paths are absolute. */
export interface ControlSettings {
  readonly job: string;
  readonly weight?: number | undefined;
  readonly priority?: number | undefined;
  readonly atLeast?: RateSettings | undefined;
  readonly atMost?: RateSettings | undefined;
  /** The name of the registry. Default: `control`. */
  readonly name?: string | undefined;
  readonly registry?: TableConfig | undefined;
  /** The name of the source, and its capacity. */
  readonly source?:
    { readonly name?: string | undefined; readonly budget?: RateSettings | undefined } | undefined;
  readonly node?: string | undefined;
}

/** The section `control` of a file. */
export type ControlConfig = Written<Omit<ControlSettings, 'atLeast' | 'atMost' | 'source'>> & {
  readonly atLeast?: Written<RateSettings> | undefined;
  readonly atMost?: Written<RateSettings> | undefined;
  readonly source?:
    { readonly name?: string | undefined; readonly budget?: Written<RateSettings> | undefined } | undefined;
};
