import type { Clock } from '@tiered/core';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { traceLine } from './trace.js';

/** Bytes that wait to be written. Further opens are left out, and counted. */
const MOST_WAITING = 32 * 2 ** 20;

/**
 * Writes down which objects programs open, in order, while they run. Where that does not work, the process
 * warns once, and everything else goes on.
 */
export class Recorder {
  readonly #stream: Writable;
  readonly #clock: Clock;
  readonly #begun: number;
  #lost = 0;

  /** @throws Errors of the system, for example if there is a file already. */
  static async to(file: string, clock: Clock): Promise<Recorder> {
    const stream = createWriteStream(file, { flags: 'wx' });
    await once(stream, 'open');
    return new Recorder(stream, file, clock);
  }

  /** @param name What a warning calls it. */
  constructor(stream: Writable, name: string, clock: Clock) {
    this.#stream = stream;
    this.#clock = clock;
    this.#begun = clock.now();
    stream.once('error', ({ message }: Error) =>
      process.emitWarning(`The trace ${name} ends early: ${message}`, 'TieredWarning'),
    );
    // What comes after the first is the same.
    stream.on('error', () => undefined);
  }

  /** Opens that are not in the file, because it could not be written fast enough, or not at all. */
  get lost(): number {
    return this.#lost;
  }

  opened(key: string): void {
    if (this.#stream.errored !== null || this.#stream.writableLength > MOST_WAITING) {
      this.#lost += 1;
      return;
    }
    const line = traceLine({ seconds: (this.#clock.now() - this.#begun) / 1000, key });
    this.#stream.write(line, (error) => {
      if (error) this.#lost += 1;
    });
  }

  /** Resolves when all is written that can be. */
  async close(): Promise<void> {
    this.#stream.end();
    await finished(this.#stream).catch(() => undefined);
  }
}
