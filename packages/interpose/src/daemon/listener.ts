import type { Clock } from '@tiered/core';
import type { Message, Ring } from '../ring/ring.js';
import type { SessionSocket } from './socket.js';

/**
 * Between two looks for messages while there are some. A look costs 50 us of a core that loaders want as
 * well. Nobody waits for what is said here, and the ring has room for ten times as many messages as come in
 * it.
 */
const LOOK_MS = 10;
/** Looks in a row that find nothing, after which it sleeps until a program wakes it. */
const LOOKS = 20;
/** The longest sleep: whatever becomes of a wake-up, messages are not later than this. */
const SLEEP_MS = 250;

/**
 * Takes the messages of programs from the ring, soon after they come, and nearly for nothing while none
 * come.
 */
export class Listener {
  readonly #ring: Ring;
  readonly #wakeUps: SessionSocket;
  readonly #clock: Clock;
  readonly #onMessage: (message: Message) => void;
  #isClosed = false;
  /** Ends the sleep, if there is one now. */
  #sleeping: AbortController | undefined;
  readonly #listening: Promise<void>;

  constructor(ring: Ring, wakeUps: SessionSocket, clock: Clock, onMessage: (message: Message) => void) {
    this.#ring = ring;
    this.#wakeUps = wakeUps;
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
    this.#isClosed = true;
    this.#sleeping?.abort();
    await this.#listening;
    this.take();
  }

  async #listen(): Promise<void> {
    for (let idle = 0; !this.#isClosed; idle++) {
      if (this.take()) idle = 0;
      // A message that a program has begun and not finished keeps it awake.
      if (idle < LOOKS || !this.#ring.fallAsleep()) await this.#sleep(LOOK_MS);
      else {
        const isWoken = await this.#sleep(SLEEP_MS, this.#wakeUps.next());
        this.#ring.wakeUp();
        if (isWoken) idle = 0;
      }
    }
  }

  /** Whether something else ended it before its time. */
  async #sleep(ms: number, woken?: Promise<void>): Promise<boolean> {
    const sleeping = new AbortController();
    this.#sleeping = sleeping;
    void woken?.then(() => sleeping.abort());
    await this.#clock.sleep(ms, sleeping.signal, { background: true }).catch(() => undefined);
    return sleeping.signal.aborted;
  }
}
