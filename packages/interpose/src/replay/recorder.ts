import type { Clock } from '@tiered/core';
import { createWriteStream, type WriteStream } from 'node:fs';
import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import { traceLine } from './trace.js';

/** Bytes that wait to be written. What comes on top is left out, and counted. */
const MOST_WAITING = 32 * 2 ** 20;

/** Writes down which objects programs open, in order, while they run. */
export class Recorder {
  readonly #stream: WriteStream;
  readonly #clock: Clock;
  readonly #begun: number;
  #lost = 0;
  #error: Error | undefined;

  /** @throws Errors of the system, for example if there is a file already. */
  static async to(file: string, clock: Clock): Promise<Recorder> {
    const stream = createWriteStream(file, { flags: 'wx' });
    await once(stream, 'open');
    return new Recorder(stream, clock);
  }

  private constructor(stream: WriteStream, clock: Clock) {
    this.#stream = stream;
    this.#clock = clock;
    this.#begun = clock.now();
    stream.on('error', (error: Error) => (this.#error ??= error));
  }

  /** Opens that are not in the file, because it could not be written fast enough, or not at all. */
  get lost(): number {
    return this.#lost;
  }

  opened(key: string): void {
    if (this.#error !== undefined || this.#stream.writableLength > MOST_WAITING) this.#lost += 1;
    else this.#stream.write(traceLine({ seconds: (this.#clock.now() - this.#begun) / 1000, key }));
  }

  /** @throws What went wrong with the file. */
  async close(): Promise<void> {
    if (this.#error === undefined) {
      this.#stream.end();
      await finished(this.#stream);
    }
    if (this.#error !== undefined) throw this.#error;
  }
}
