import type { LoadedConfig } from '@tiered/config';
import type { Control } from '@tiered/control';
import { isTieredError, TieredError, type Clock, type Hierarchy } from '@tiered/core';
import { StagingBuffer, type PrefetcherOptions } from '@tiered/prefetch';
import { warnProcess, type LogTargets } from '../quiet-log.js';
import { logControl } from './control-log.js';

/** Options of `ControlStage.join`. */
export interface StageOptions extends Partial<LogTargets> {
  readonly clock: Clock;
  /** Ends the joining. */
  readonly signal?: AbortSignal | undefined;
}

/** What a prefetcher is told of its memory and its requests. */
type BufferOptions = Pick<
  PrefetcherOptions,
  'staging' | 'memory' | 'producers' | 'concurrency' | 'autotuner' | 'debug' | 'clock'
>;

/**
 * This process as a stage of the job of its configuration: its source is behind the share of the job, and
 * other jobs know what it could use. Without a section `control` nothing is different.
 *
 * Close it after the hierarchy.
 */
export class ControlStage implements AsyncDisposable {
  /** Undefined for a process that shares nothing. */
  readonly control: Control | undefined;
  /**
   * The configuration, with the source behind the share. A cluster comes around that, since other workers are
   * no source.
   */
  readonly config: LoadedConfig;

  /**
   * Joins the stages of all jobs.
   * @throws TieredError `TIERED_CONFIG_INVALID` for settings that cannot work, which are named;
   * `TIERED_UNAVAILABLE` if the registry cannot be reached. Abort rejects with `signal.reason`.
   */
  static async join(config: LoadedConfig, options: StageOptions): Promise<ControlStage> {
    const { control: settings, hierarchy, makeHierarchy } = config;
    if (settings === undefined) return new ControlStage(undefined, config);
    const { clock, signal, warn = warnProcess, note } = options;
    try {
      const { joinControl } = await import('./join-control.js');
      const { control, source } = await joinControl(settings, config, { clock, signal });
      logControl(control, settings.job, clock, { warn, note });
      return new ControlStage(control, {
        ...config,
        hierarchy: { ...hierarchy, source },
        makeHierarchy: (changes) => makeHierarchy({ source, ...changes }),
      });
    } catch (error) {
      throw inSection(error);
    }
  }

  private constructor(control: Control | undefined, config: LoadedConfig) {
    this.control = control;
    this.config = config;
  }

  /** Has the stage show how full the tiers of its hierarchy are. */
  follow(hierarchy: Hierarchy): void {
    this.control?.followTiers(hierarchy);
  }

  /**
   * Makes what reads ahead, with a staging buffer that the stage follows: it says what the consumers could
   * use, and keeps to the share of the node. A buffer that was given is followed until the stage is closed.
   */
  followed<Options extends BufferOptions, Reader>(
    options: Options,
    make: (options: Options) => Reader,
  ): Reader {
    const { control } = this;
    if (control === undefined) return make(options);
    const { staging, memory, producers, concurrency, autotuner, debug, ...others } = options;
    if (staging !== undefined) {
      const reader = make(options);
      control.followBuffer(staging);
      return reader;
    }
    const { clock } = options;
    const buffer = new StagingBuffer({ memory, producers, concurrency, autotuner, debug, clock });
    const reader = make({ ...others, staging: buffer } as BufferOptions as Options);
    const stop = control.followBuffer(buffer);
    buffer.on('rested', stop);
    return reader;
  }

  /** Leaves the others, which have its share at once. Idempotent. */
  async close(): Promise<void> {
    await this.control?.close();
  }

  /** Calls `close`, at the end of an `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** The job that a command was told, in place of that of the configuration. */
export interface SaidJob {
  readonly job?: string | undefined;
  readonly weight?: number | undefined;
}

/**
 * A configuration whose job is another one, so that several programs can be started with one file.
 * @throws TieredError `TIERED_CONFIG_INVALID` for a weight of no job.
 */
export function asJob(config: LoadedConfig, { job, weight }: SaidJob): LoadedConfig {
  const { control } = config;
  if (job === undefined && weight === undefined) return config;
  const name = job ?? control?.job;
  if (name === undefined)
    throw new TieredError('TIERED_CONFIG_INVALID', '--weight: needs a job, which has the weight: --job NAME');
  return { ...config, control: { ...control, job: name, weight: weight ?? control?.weight } };
}

/** Says in which section of the configuration something is wrong. */
function inSection(error: unknown): unknown {
  if (!isTieredError(error, 'TIERED_CONFIG_INVALID')) return error;
  return new TieredError(error.code, error.message.replace(/^(?=[a-z])/, 'control.'), { cause: error.cause });
}
