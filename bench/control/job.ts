import { fileURLToPath } from 'node:url';
import { LineProcess } from '../../tools/processes/line-process.js';
import { SOURCES } from '../lib/from-sources.js';

/** What a job reads, and how. */
export interface JobTask {
  readonly job: string;
  /** Where the source is mounted. */
  readonly directory: string;
  /** Requests at a time. */
  readonly producers: number;
  /** What it trains on in a second; null for no training. */
  readonly computeBytesPerSecond: number | null;
  /** Undefined: it reads until it is closed. */
  readonly epochs?: number | undefined;
  /** Bytes of RAM for copies. 0: it keeps nothing. */
  readonly quota: number;
  /** Undefined: it reads from the source as fast as it can. */
  readonly control?: JobControl | undefined;
}

/** The meeting place of jobs: a file, or a bucket of NATS. */
export type JobRegistry = { readonly path: string } | { readonly servers: string; readonly name: string };

/** How a job shares the source. */
export interface JobControl {
  readonly registry: JobRegistry;
  readonly weight: number;
  /** What the source gives in a second; undefined: jobs measure it. */
  readonly budget: number | undefined;
}

/** What a job has done until now, by its own clock. */
export interface JobCounts {
  readonly atMs: number;
  /** Bytes that its consumer has taken. */
  readonly bytes: number;
  /** Of all its threads. */
  readonly cpuMs: number;
  /** At the source. */
  readonly requests: number;
  /** Milliseconds that they took, summed. */
  readonly requestMs: number;
}

/** What a job is told. */
export type Line = { readonly open: JobTask } | 'begin' | 'counts' | 'finish' | 'close';

const PROGRAM = fileURLToPath(new URL('job-process.ts', import.meta.url));

/** A job in a process of its own. It can be opened again when it was closed. */
export class Job implements AsyncDisposable {
  readonly #process: LineProcess;

  /** @param inside The command that starts a program on its machine. Default: this one. */
  static async start(inside: readonly string[] = []): Promise<Job> {
    const [command, ...rest] = [...inside, process.execPath, ...SOURCES, PROGRAM];
    return new Job(await LineProcess.start({ command, arguments: rest }));
  }

  private constructor(started: LineProcess) {
    this.#process = started;
  }

  /** Joins the others, and opens the source. */
  async open(task: JobTask): Promise<void> {
    await this.#ask({ open: task });
  }

  /** Begins to read. */
  async begin(): Promise<void> {
    await this.#ask('begin');
  }

  async counts(): Promise<JobCounts> {
    return (await this.#ask('counts')) as JobCounts;
  }

  /** Resolves to the seconds of each epoch once all have been read. */
  async finish(): Promise<readonly number[]> {
    return (await this.#ask('finish')) as number[];
  }

  /** Ends the reading, and leaves the others. */
  async close(): Promise<void> {
    await this.#ask('close');
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#process.close();
  }

  #ask(line: Line): Promise<unknown> {
    return this.#process.askJson(line);
  }
}

/** Processes of jobs, which have loaded everything. */
export class Jobs implements AsyncDisposable {
  readonly list: readonly Job[];

  /** @param insides For each, the command that starts a program on its machine. */
  static async start(insides: readonly (readonly string[])[]): Promise<Jobs> {
    const jobs = new Jobs(await Promise.all(insides.map((inside) => Job.start(inside))));
    try {
      await Promise.all(jobs.list.map((job) => job.counts()));
      return jobs;
    } catch (error) {
      await jobs[Symbol.asyncDispose]();
      throw error;
    }
  }

  private constructor(list: readonly Job[]) {
    this.list = list;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.list.map((job) => job[Symbol.asyncDispose]()));
  }
}
