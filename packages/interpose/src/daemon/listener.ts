import type { Clock } from '@tiered/core';
import type { Message, Ring } from '../ring/ring.js';
import type { SessionSocket } from './socket.js';

/** Between two looks for messages while there are some. */
const LOOK_MS = 2;
/** Looks in a row that find nothing, after which it sleeps until a program wakes it. */
const LOOKS = 100;
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
  readonly #closing = new AbortController();
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
    this.#closing.abort();
    await this.#listening;
    this.take();
  }

  async #listen(): Promise<void> {
    const { signal } = this.#closing;
    for (let idle = 0; !signal.aborted; idle++) {
      if (this.take()) idle = 0;
      // A message that a program has begun and not finished keeps it awake.
      if (idle < LOOKS || !this.#ring.fallAsleep()) await this.#sleep(LOOK_MS);
      else {
        const woken = new AbortController();
        const wake = () => woken.abort();
        void this.#wakeUps.next().then(wake);
        await this.#sleep(SLEEP_MS, AbortSignal.any([signal, woken.signal]));
        this.#ring.wakeUp();
        if (woken.signal.aborted) idle = 0;
      }
    }
  }

  #sleep(ms: number, signal = this.#closing.signal): Promise<void> {
    return this.#clock.sleep(ms, signal, { background: true }).catch(() => undefined);
  }
}
