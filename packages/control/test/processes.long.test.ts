import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { ReadingJob, ReadingSaid } from './children/read-at-its-share.js';

const BYTES = 50_000;
/** So little that the busiest machine gives it: then shares say all. */
const BUDGET = 2_000_000;
const SHARED_OUT = 0.985 * BUDGET;

/** A job in a process of its own. */
class Reading {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown[]>;

  constructor(told: ReadingJob) {
    const child = path.join(import.meta.dirname, 'children/read-at-its-share.ts');
    this.#child = fork(child, [JSON.stringify(told)], {
      execArgv: ['--conditions=tiered-source', '--import', 'tsx'],
    });
    this.#exited = once(this.#child, 'exit');
  }

  /** Waits until it says this. */
  async says(what: (said: ReadingSaid) => boolean): Promise<ReadingSaid> {
    const ended = this.#exited.then(() => {
      throw new Error('a job has ended');
    });
    for (;;) {
      const [said] = (await Promise.race([once(this.#child, 'message'), ended])) as [ReadingSaid];
      if (what(said)) return said;
    }
  }

  /** Waits until it has this share, in bytes a second. */
  has(share: number): Promise<ReadingSaid> {
    return this.says((said) => Math.abs(said.share - share) < 0.01 * share);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Ends in order. Returns the code of its exit. */
  async end(): Promise<unknown> {
    this.#child.send('end');
    const [code] = await this.#exited;
    return code;
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGCONT');
    this.#child.kill('SIGKILL');
    await this.#exited;
  }
}

const running: Reading[] = [];
let directory = '';

afterEach(async () => {
  await Promise.all(running.splice(0).map((job) => job.kill()));
  await rm(directory, { recursive: true, force: true });
});

async function startJobs(weights: readonly number[]): Promise<{ jobs: Reading[]; registry: string }> {
  directory = await mkdtemp(path.join(os.tmpdir(), 'jobs-'));
  await writeFile(path.join(directory, 'object'), new Uint8Array(BYTES).fill(7));
  const registry = path.join(directory, 'registry', 'control.db');
  const jobs = weights.map(
    (weight, i) =>
      new Reading({
        registry,
        directory,
        key: 'object',
        bytes: BYTES,
        job: `job-${i}`,
        weight,
        bytesPerSecond: BUDGET,
      }),
  );
  running.push(...jobs);
  return { jobs, registry };
}

describe('jobs in processes of their own', () => {
  it('[U4] [U5] have their shares again after one was killed, one was stopped, and the registry was deleted', async () => {
    const { jobs, registry } = await startJobs([1, 1, 2]);
    const [first, second, third] = jobs;
    if (first === undefined || second === undefined || third === undefined)
      throw new Error('three were begun');
    await Promise.all([first.has(SHARED_OUT / 4), second.has(SHARED_OUT / 4), third.has(SHARED_OUT / 2)]);

    await third.kill();
    await Promise.all([first.has(SHARED_OUT / 2), second.has(SHARED_OUT / 2)]);

    second.signal('SIGSTOP');
    await first.has(BUDGET);
    second.signal('SIGCONT');
    await Promise.all([first.has(SHARED_OUT / 2), second.has(SHARED_OUT / 2)]);

    for (const end of ['', '-wal', '-shm']) await rm(registry + end, { force: true });
    const [before] = await Promise.all([first.says(() => true), second.says(() => true)]);
    // Reads have gone on meanwhile, and both have found each other in a new file.
    const isThere = ({ stages, reads }: ReadingSaid) => stages === 2 && reads > before.reads;
    const said = await Promise.all([
      first.says((now) => isThere(now) && Math.abs(now.share - SHARED_OUT / 2) < 0.01 * SHARED_OUT),
      second.has(SHARED_OUT / 2),
    ]);
    expect(said.map(({ wrong }) => wrong)).toEqual([0, 0]);
    expect(await Promise.all([first.end(), second.end()])).toEqual([0, 0]);
  });
});
