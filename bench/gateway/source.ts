import { fileURLToPath } from 'node:url';
import { LineProcess } from '../../tools/processes/line-process.js';
import { SOURCES } from '../lib/from-sources.js';
import type { Dataset } from './datasets.js';

/** A bucket, and how slow it is. */
export interface SourcePlan {
  readonly dataset: Dataset;
  /** That each request waits. */
  readonly latencyMs: number;
  /** That all answers share. */
  readonly bytesPerSecond: number;
}

/** Bytes a second that no client here takes. */
export const UNLIMITED = 1e12;

/** What has reached the source. Heads of answers are among the bytes. */
export interface SourceCounts {
  readonly endpoint: string;
  readonly operations: number;
  readonly bytes: number;
}

const PROGRAM = fileURLToPath(new URL('source-process.ts', import.meta.url));

/** The source of everybody: a bucket in a process of its own, which counts what it is asked. */
export class Source implements AsyncDisposable {
  readonly #process: LineProcess;

  static async start(plan: SourcePlan): Promise<Source> {
    const command = process.execPath;
    return new Source(
      await LineProcess.start({ command, arguments: [...SOURCES, PROGRAM, JSON.stringify(plan)] }),
    );
  }

  private constructor(started: LineProcess) {
    this.#process = started;
  }

  async counts(): Promise<SourceCounts> {
    return JSON.parse(await this.#process.ask('')) as SourceCounts;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#process.close();
  }
}
