import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { LineProcess, type LineProcessOptions } from '../../tools/processes/line-process.js';

/** How to start a process that does rounds. */
export interface RoundProcessOptions extends LineProcessOptions {
  /** Bytes of a round. */
  readonly bytes: number;
}

/**
 * A process that reads the same files again and again: once for each line that it is sent, and it answers
 * with a line, the bytes that it read.
 */
export class RoundProcess {
  readonly #process: LineProcess;
  readonly #bytes: number;

  private constructor(process: LineProcess, bytes: number) {
    this.#process = process;
    this.#bytes = bytes;
  }

  /** Starts the process, which may take its time until it answers the first round. */
  static async start(options: RoundProcessOptions): Promise<RoundProcess> {
    return new RoundProcess(await LineProcess.start(options), options.bytes);
  }

  /**
   * Reads every file once.
   * @throws Error if other bytes were read than were expected, or none because the process has ended.
   */
  async round(): Promise<void> {
    const read = await this.#process.ask('');
    if (Number(read) === this.#bytes) return;
    throw this.#process.error(`read ${read} of ${this.#bytes} bytes`);
  }

  /**
   * The same, but between rounds it does nothing. For a process that works ahead: its rounds would be shorter
   * than their work, at the cost of those whose turn it is.
   */
  async roundAlone(): Promise<void> {
    this.#process.resume();
    await this.round();
    this.#process.pause();
  }

  /** Ends it. */
  close(): Promise<void> {
    return this.#process.close();
  }
}

/** Tells a process what it is to read: resolves to the name of a new file with a path a line. */
export async function writePaths(directory: string, paths: readonly string[]): Promise<string> {
  const list = path.join(directory, `paths-${randomUUID()}`);
  await writeFile(list, paths.map((one) => `${one}\n`).join(''));
  return list;
}
