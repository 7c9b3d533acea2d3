import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import readline from 'node:readline';

/** How to start a process that does rounds. */
export interface RoundProcessOptions {
  readonly command: string;
  readonly arguments: readonly string[];
  /** Beside this process's own; `undefined` takes a variable away. */
  readonly environment?: NodeJS.ProcessEnv;
  /** Bytes of a round. */
  readonly bytes: number;
}

/** Of what a process writes to stderr, as much as an error message quotes. */
const QUOTED = 2000;

/**
 * A process that reads the same files again and again: once for each line that it is sent, and it answers
 * with a line, the bytes that it read. It ends when its input does, so also when this process ends.
 */
export class RoundProcess {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #answers: AsyncIterator<string>;
  readonly #ended: Promise<unknown>;
  readonly #options: RoundProcessOptions;
  #errors = '';

  private constructor(child: ChildProcessWithoutNullStreams, options: RoundProcessOptions) {
    this.#child = child;
    this.#options = options;
    this.#ended = once(child, 'exit');
    this.#answers = readline.createInterface(child.stdout)[Symbol.asyncIterator]();
    child.stderr.on(
      'data',
      (text: Buffer) => (this.#errors = `${this.#errors}${text.toString()}`.slice(-QUOTED)),
    );
    // A line for a process that has died: `round` says why.
    child.stdin.on('error', () => undefined);
  }

  /** Starts the process, which may take its time until it answers the first round. */
  static async start(options: RoundProcessOptions): Promise<RoundProcess> {
    const child = spawn(options.command, options.arguments, {
      env: { ...process.env, ...options.environment },
    });
    const started = new RoundProcess(child, options);
    await once(child, 'spawn');
    return started;
  }

  /**
   * Reads every file once.
   * @throws Error if other bytes were read than were expected, or none because the process has ended.
   */
  async round(): Promise<void> {
    this.#child.stdin.write('\n');
    const { value } = (await this.#answers.next()) as { value: string | undefined };
    if (Number(value) === this.#options.bytes) return;
    const what = [this.#options.command, ...this.#options.arguments].join(' ');
    throw new Error(`${what} read ${value ?? 'nothing'} of ${this.#options.bytes} bytes. ${this.#errors}`);
  }

  /** Ends it. */
  async close(): Promise<void> {
    this.#child.stdin.end();
    await this.#ended;
  }
}

/** Tells a process what it is to read: resolves to the name of a new file with a path a line. */
export async function writePaths(directory: string, paths: readonly string[]): Promise<string> {
  const list = path.join(directory, `paths-${randomUUID()}`);
  await writeFile(list, paths.map((one) => `${one}\n`).join(''));
  return list;
}
