import type { Registry } from '@tiered/cluster/registry';
import { look, type PolicyRecord } from '@tiered/control';
import { isTieredError, type Clock } from '@tiered/core';
import { messageOf } from '../words.js';
import { budgetLines } from './text.js';
import { viewOf, type ControlView, type SourceView } from './view.js';

/** Milliseconds between two looks. Stages say something new twice a second. */
const EVERY_MS = 1000;
/** Looks that are kept: five minutes. */
const MOST_FRAMES = 300;
/** What a look keeps of a crowd: the sources with the most jobs, and the jobs that use the most. */
const MOST_SOURCES = 8;
const MOST_JOBS = 16;

/** A source in a look. */
interface FrameSource extends SourceView {
  /** What it gives, who says so, and how much of it is shared out, in words. */
  readonly gives: string;
  /** Jobs that are left out, because others use more. */
  readonly others: number;
}

/** What was seen at one moment. */
export interface Frame {
  /** Milliseconds of the clock. */
  readonly at: number;
  readonly revision: number;
  readonly sources: readonly FrameSource[];
  readonly idle: readonly string[];
  /** Why nothing was seen. */
  readonly lost?: string;
}

/** Looks at all jobs every second, and keeps the looks of the last five minutes. */
export class Watch {
  readonly #registry: Registry;
  readonly #clock: Clock;
  readonly #frames: Frame[] = [];
  readonly #viewers = new Set<(frame: Frame) => void>();
  readonly #ended = new AbortController();
  #policy: PolicyRecord | undefined;
  #running: Promise<void> | undefined;

  /** @param registry Opened and closed by who gives it. */
  constructor(registry: Registry, clock: Clock) {
    this.#registry = registry;
    this.#clock = clock;
  }

  /** The looks, the oldest first. */
  get frames(): readonly Frame[] {
    return this.#frames;
  }

  /** What operators had set at the last look. */
  get policy(): PolicyRecord | undefined {
    return this.#policy;
  }

  /**
   * Looks for the first time, and goes on.
   * @throws TieredError `TIERED_UNAVAILABLE` if the registry cannot be reached. Later that is a frame.
   */
  async start(): Promise<void> {
    this.#add(await this.#look());
    this.#running = this.#run();
  }

  /** Tells somebody of each further look. Returns what ends that. */
  follow(viewer: (frame: Frame) => void): () => void {
    this.#viewers.add(viewer);
    return () => this.#viewers.delete(viewer);
  }

  /** Looks no more. Idempotent. */
  async close(): Promise<void> {
    this.#ended.abort(new Error('The page is not served any more.'));
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      await this.#clock.sleep(EVERY_MS, signal, { background: true }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        this.#add(await this.#look());
      } catch (error) {
        if (signal.aborted) return;
        if (!isTieredError(error)) throw error;
        this.#add({ at: this.#now(), revision: 0, sources: [], idle: [], lost: messageOf(error) });
      }
    }
  }

  async #look(): Promise<Frame> {
    const seen = await look(this.#registry, this.#ended.signal);
    this.#policy = seen.policy;
    return frameOf(viewOf(seen), this.#now());
  }

  #now(): number {
    return Math.round(this.#clock.now());
  }

  #add(frame: Frame): void {
    this.#frames.push(frame);
    if (this.#frames.length > MOST_FRAMES) this.#frames.shift();
    for (const viewer of this.#viewers) viewer(frame);
  }
}

/** A look, without those for whom there is no room on a page. */
export function frameOf({ revision, sources, idle }: ControlView, at: number): Frame {
  const largest = sources.toSorted((a, b) => b.jobs.length - a.jobs.length).slice(0, MOST_SOURCES);
  return {
    at,
    revision,
    sources: sources.filter((source) => largest.includes(source)).map(fewJobs),
    idle: idle.slice(0, MOST_JOBS),
  };
}

function fewJobs(source: SourceView): FrameSource {
  const { jobs } = source;
  const most = jobs.toSorted((a, b) => (b.used.bytes ?? 0) - (a.used.bytes ?? 0)).slice(0, MOST_JOBS);
  const gives = budgetLines(source).join('; ');
  return {
    ...source,
    gives,
    jobs: jobs.filter((job) => most.includes(job)),
    others: jobs.length - most.length,
  };
}
