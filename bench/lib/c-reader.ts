import { execFile, spawn, spawnSync, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** What a C reader is to read, and how. */
export interface CReaderOptions {
  /** Where the program is built. */
  readonly directory: string;
  /** Files of the same size. */
  readonly paths: readonly string[];
  /** The size of a file. */
  readonly bytes: number;
  readonly threads: number;
  /** Files that the memory of a thread holds, which is used round and round. */
  readonly slots: number;
}

/** A program in C that reads files: what the hardware and the system give to anybody. */
export class CReader {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #answers: AsyncIterator<string>;
  readonly #expected: number;

  private constructor(child: ChildProcessWithoutNullStreams, expected: number) {
    this.#child = child;
    this.#answers = readline.createInterface(child.stdout)[Symbol.asyncIterator]();
    this.#expected = expected;
  }

  /** Whether there is a compiler. */
  static get available(): boolean {
    return spawnSync('cc', ['--version']).status === 0;
  }

  /** Compiles the program and starts it. */
  static async start({ directory, paths, bytes, threads, slots }: CReaderOptions): Promise<CReader> {
    const program = path.join(directory, 'c-reader');
    const source = fileURLToPath(new URL('c-reader.c', import.meta.url));
    await promisify(execFile)('cc', ['-O2', '-pthread', '-o', program, source]);
    const list = path.join(directory, 'paths');
    await writeFile(list, paths.map((one) => `${one}\n`).join(''));
    const child = spawn(program, [threads, bytes, slots].map(String));
    child.stdin.write(`${list}\n`);
    return new CReader(child, paths.length * bytes);
  }

  /** Reads every file once. */
  async round(): Promise<void> {
    this.#child.stdin.write('\n');
    const { value } = (await this.#answers.next()) as { value: string | undefined };
    if (Number(value) !== this.#expected) throw new Error(`the C reader read ${value ?? 'nothing'}`);
  }

  /** Ends the program. */
  async close(): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.stdin.end();
    await ended;
  }
}
