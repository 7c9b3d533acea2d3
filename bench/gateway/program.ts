import { systemClock } from '@tiered/core';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync, closeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

/** How often it is asked whether a server answers. */
const ASKED_EACH_MS = 20;
const LONGEST_START_MS = 30_000;

/** A server to be started. */
export interface ProgramOptions {
  readonly command: string;
  readonly arguments: readonly string[];
  readonly environment?: NodeJS.ProcessEnv | undefined;
  /** Where its output goes. */
  readonly log: string;
  /** What it answers with 200 once it is there. */
  readonly url: string;
}

/** A server in a process of its own. It ends with this process, however that ends. */
export class Program {
  readonly #child: ChildProcess;

  /** Starts a server, and waits until it answers. */
  static async start(options: ProgramOptions): Promise<Program> {
    const { command, arguments: args, environment, log, url } = options;
    const output = openSync(log, 'a');
    const child = spawn('setpriv', ['--pdeathsig', 'TERM', command, ...args], {
      stdio: ['ignore', output, output],
      env: { ...process.env, ...environment },
    });
    closeSync(output);
    await once(child, 'spawn');
    const begun = systemClock.now();
    while (!(await answers(url))) {
      const isLate = systemClock.now() - begun > LONGEST_START_MS;
      if (isLate) child.kill();
      if (isLate || child.exitCode !== null || child.signalCode !== null)
        throw new Error(`${command} has not answered. ${await readFile(log, 'utf8')}`);
      await systemClock.sleep(ASKED_EACH_MS);
    }
    return new Program(child);
  }

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  get pid(): number {
    return this.#child.pid ?? Number.NaN;
  }

  /** Ends it. */
  async close(): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.kill();
    await ended;
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    const answer = await fetch(url);
    await answer.arrayBuffer();
    return answer.status === 200;
  } catch {
    return false;
  }
}
