import type { Clock } from '@tiered/core';
import type { Message, Ring } from '../ring/ring.js';

/**
 * Between two looks for messages while there are some. A look costs 50 us of a core that loaders want as
 * well. Nobody waits for what is said here, and the ring has room for ten times as many messages as come in
 * it.
 */
const LOOK_MS = 10;
/** Looks in a row that find nothing, after which it looks less often. */
const LOOKS = 20;
/** Between two looks then: a thousandth of a core, for a start of placing that nobody notices. */
const IDLE_LOOK_MS = 50;

/**
 * Takes the messages of programs from the ring, soon after they come, and nearly for nothing while none
 * come.
 */
export class Listener {
  readonly #ring: Ring;
  readonly #clock: Clock;
  readonly #onMessage: (message: Message) => void;
  readonly #closing = new AbortController();
  readonly #listening: Promise<void>;

  constructor(ring: Ring, clock: Clock, onMessage: (message: Message) => void) {
    this.#ring = ring;
    this.#clock = clock;
    this.#onMessage = onMessage;
    this.#listening = this.#listen();
  }

  /** Takes what has come until now. */
  take(): boolean {
    const messages = this.#ring.take();
    for (const message of messages) this.#onMessage(message);
    return messages.length > 0;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#listening;
    this.take();
  }

  async #listen(): Promise<void> {
    const { signal } = this.#closing;
    for (let idle = 0; !signal.aborted; idle++) {
      if (this.take()) idle = 0;
      const ms = idle < LOOKS ? LOOK_MS : IDLE_LOOK_MS;
      await this.#clock.sleep(ms, signal, { background: true }).catch(() => undefined);
    }
  }
}
