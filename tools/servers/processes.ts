import { systemClock } from '@tiered/core';
import { fork, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';

/** What the keeper says of a program that ended or could not be started. */
interface Ended {
  readonly id: number;
  /** Exit code, signal, or why it could not be started. */
  readonly how: string | number;
}

/** A program ended before it answered. */
export class EndedEarly extends Error {}

/**
 * Programs that run in a temporary directory. All of them, and the directory, are gone after `close`, and
 * soon after this process ended, even if it was killed: a keeper process does it, which notices that its
 * channel is closed.
 */
export class Processes {
  readonly directory: string;
  readonly #keeper: ChildProcess;
  readonly #keeperExit: Promise<void>;
  readonly #waiting = new Map<number, (how: string | number) => void>();
  readonly #closed = new AbortController();

  /** @param prefix Of the directory's name. */
  constructor(parent: string, prefix: string) {
    this.directory = mkdtempSync(path.join(parent, prefix));
    this.#keeper = fork(path.join(import.meta.dirname, 'keeper.js'), [this.directory], {
      // It must survive a Ctrl-C in this terminal, and not hold this terminal's pipes open.
      detached: true,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      execArgv: [],
    });
    this.#keeperExit = once(this.#keeper, 'exit').then(() => {
      for (const ended of this.#waiting.values()) ended('the end of its keeper');
    });
    this.#keeper.on('message', ({ id, how }: Ended) => this.#waiting.get(id)?.(how));
    // A worker of vitest outlives a vitest that was killed: until its tests have ended, which may be never.
    process.once('disconnect', this.#letGo);
    if ('connected' in process && !process.connected) this.#letGo();
    // A program that forgets `close` can end.
    this.#keeper.unref();
    this.#keeper.channel?.unref();
  }

  /** Runs a program to its end. Rejects unless it exits with 0. Its output goes to `NAME.log`. */
  async run(name: string, command: string, args: readonly string[]): Promise<void> {
    const how = await this.#spawn(name, command, args);
    if (how !== 0) throw new Error(`${name} ended with ${how}`);
  }

  /**
   * Starts a program that is to stay, and waits until it answers.
   * @param answers Asks it; asked every 20 ms.
   * @throws EndedEarly if it ends before it answers.
   */
  async start(
    name: string,
    command: string,
    args: readonly string[],
    answers: () => Promise<boolean>,
  ): Promise<void> {
    const ready = new AbortController();
    const ended = this.#spawn(name, command, args).then((how) => {
      throw new EndedEarly(`${name} ended with ${how}`);
    });
    const answered = async () => {
      const signal = AbortSignal.any([ready.signal, this.#closed.signal]);
      while (!(await answers())) await systemClock.sleep(20, signal);
    };
    try {
      await Promise.race([answered(), ended]);
    } finally {
      ready.abort();
    }
  }

  /** The last 15 lines of every log. */
  endOfLogs(): string {
    return readdirSync(this.directory)
      .filter((file) => file.endsWith('.log'))
      .map((file) => {
        const lines = readFileSync(path.join(this.directory, file), 'utf8').trim().split('\n');
        return [`--- ${file}`, ...lines.slice(-15)].join('\n');
      })
      .join('\n');
  }

  /** Kills all programs at once and removes the directory. May be called more than once. */
  async close(): Promise<void> {
    process.off('disconnect', this.#letGo);
    this.#keeper.ref();
    this.#letGo();
    await this.#keeperExit;
  }

  readonly #letGo = (): void => {
    this.#closed.abort();
    if (this.#keeper.connected) this.#keeper.disconnect();
  };

  async #spawn(name: string, command: string, args: readonly string[]): Promise<string | number> {
    const id = randomInt(2 ** 40);
    const ended = new Promise<string | number>((resolve) => this.#waiting.set(id, resolve));
    const log = path.join(this.directory, `${name}.log`);
    this.#keeper.send({ id, command, args, log }, (error) => {
      if (error !== null) this.#waiting.get(id)?.(error.message);
    });
    try {
      return await ended;
    } finally {
      this.#waiting.delete(id);
    }
  }
}

/**
 * Ports of 127.0.0.1 on which nobody listens; another program that draws ports may take one before the server
 * does. They are below those that systems give to outgoing connections, so that none of these takes one
 * before the server does.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = randomInt(15_000, 32_000);
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

/** Ports that are tried for one program. */
const MOST_PORTS = 4;

/**
 * Starts a program on a free port, and on another one if it ends early, since another program may have taken
 * the port.
 * @throws What `start` throws.
 */
export async function onFreePort<T>(start: (port: number) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    const [port = 0] = await freePorts(1);
    try {
      return await start(port);
    } catch (error) {
      if (!(error instanceof EndedEarly) || tries === MOST_PORTS) throw error;
    }
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
