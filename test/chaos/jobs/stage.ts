import { Random, type Clock } from '@tiered/core';
import type { ManualClock } from '@tiered/core/testing';
import type { Finding } from '../simulated/finding.js';
import { SimulatedProcess } from '../simulated/process.js';
import type { SimulatedRegistry } from '../simulated/registry.js';
import type { SimulatedSource } from './source.js';
import type { JobTerms, StageStart } from './steps.js';

/** Milliseconds that a record lives, and for which a stage keeps its share when the registry is lost. */
export const TTL_MS = 3000;
export const KEEP_MS = 4000;
export const SOURCE = 'nfs';

/** What stages need of their world. */
export interface StageSurroundings {
  readonly clock: ManualClock;
  readonly registry: SimulatedRegistry;
  readonly source: SimulatedSource;
  readonly terms: JobTerms;
  readonly onFinding: (finding: Finding) => void;
  readonly onRead: () => void;
}

/** A stage of a job from its start to its end: a process, and what it says to the others. */
export abstract class Stage {
  readonly options: StageStart;
  readonly process: SimulatedProcess;
  protected readonly around: StageSurroundings;
  isStarted = false;
  isClosing = false;
  /** How often it was stopped. */
  stops = 0;

  constructor(options: StageStart, around: StageSurroundings) {
    this.options = options;
    this.around = around;
    this.process = new SimulatedProcess(
      atOffset(around.clock, options.offsetMs),
      new Random(options.seed, 1),
    );
  }

  /** Names it in the registry. Undefined until it has begun. */
  abstract readonly id: string | undefined;

  /** Resolves to false if it cannot join now. */
  abstract start(): Promise<boolean>;

  /** Leaves. */
  abstract close(): Promise<void>;

  get job(): string {
    return jobOf(this.options.job);
  }

  get isRunning(): boolean {
    return this.process.state === 'running';
  }

  /** Whether it takes part, and was not told to end. */
  get isThere(): boolean {
    return this.isRunning && this.isStarted && !this.isClosing;
  }

  stop(): void {
    this.stops += 1;
    this.process.stop();
  }
}

export const jobOf = (job: number): string => `job-${job}`;

function atOffset(clock: Clock, offsetMs: number): Clock {
  return {
    now: () => clock.now() + offsetMs,
    sleep: (ms, signal, options) => clock.sleep(ms, signal, options),
    // Time goes on at each turn of the world: one of a process takes none.
    turn: () => Promise.resolve(),
  };
}
