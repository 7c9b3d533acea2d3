import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import readline from 'node:readline';

/** How to start a process that answers lines. */
export interface LineProcessOptions {
  readonly command: string;
  readonly arguments: readonly string[];
  /** Beside this process's own; `undefined` takes a variable away. */
  readonly environment?: NodeJS.ProcessEnv;
}

/** Of what a process writes to stderr, as much as an error message quotes. */
const QUOTED = 2000;

/**
 * A process that answers each line that it is sent with a line. It ends when its input does, so also when
 * this process ends.
 */
export class LineProcess {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #answers: AsyncIterator<string>;
  readonly #ended: Promise<unknown>;
  readonly #what: string;
  #errors = '';

  private constructor(child: ChildProcessWithoutNullStreams, what: string) {
    this.#child = child;
    this.#what = what;
    this.#ended = once(child, 'exit');
    this.#answers = readline.createInterface(child.stdout)[Symbol.asyncIterator]();
    child.stderr.on(
      'data',
      (text: Buffer) => (this.#errors = `${this.#errors}${text.toString()}`.slice(-QUOTED)),
    );
    // A line for a process that has died: `ask` says why.
    child.stdin.on('error', () => undefined);
  }

  /** Starts the process, which may take its time until it answers the first line. */
  static async start(options: LineProcessOptions): Promise<LineProcess> {
    const child = spawn(options.command, options.arguments, {
      env: { ...process.env, ...options.environment },
    });
    const started = new LineProcess(child, [options.command, ...options.arguments].join(' '));
    await once(child, 'spawn');
    return started;
  }

  /**
   * Sends a line, and resolves to the answer.
   * @throws Error if the process has ended, with the end of what it wrote to stderr.
   */
  async ask(line: string): Promise<string> {
    this.#child.stdin.write(`${line}\n`);
    const { value } = (await this.#answers.next()) as { value: string | undefined };
    if (value === undefined) throw this.error('ended without an answer');
    return value;
  }

  /** As `ask`, of a question and an answer as JSON. */
  async askJson(question: unknown): Promise<unknown> {
    return JSON.parse(await this.ask(JSON.stringify(question)));
  }

  /** An error that names the process, and quotes the end of what it wrote to stderr. */
  error(what: string): Error {
    return new Error(`${this.#what} ${what}. ${this.#errors}`);
  }

  /** Has it do nothing, until `resume`. */
  pause(): void {
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  /** Ends it. */
  async close(): Promise<void> {
    this.resume();
    this.#child.stdin.end();
    await this.#ended;
  }
}
