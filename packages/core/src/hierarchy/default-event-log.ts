import { systemClock, type Clock } from '../support/clock.js';
import { isTieredError, meaningOf } from '../support/errors.js';
import { formatBytes } from '../support/bytes.js';
import type { HierarchyEvents, SafeEmitter } from './events.js';
import type { Tier } from '../tier/tier.js';

/**
 * Milliseconds before the same line is repeated. The bound on the lines of all hierarchies of a process
 * applies to the same period.
 */
const QUIET_MS = 600_000;
const MOST_LINES = 10;

/** The events that are logged. */
type Told = 'tierFault' | 'tierOutOfService' | 'tierShrunk' | 'manifestFailed' | 'leftOut' | 'sourceReplaced';
type Line = readonly [name: string, text: string];
type Tellers = {
  readonly [Event in Told]: (payload: Parameters<HierarchyEvents[Event]>[0]) => Line | undefined;
};

/**
 * Logs important events of a program that has no listener for them: a tier is not used or is smaller than
 * configured, so the source is read instead, or objects are left out. A training job that runs ten times
 * slower, or lacks samples, should say why.
 *
 * Bounded: one line per tier and state, repeated after ten minutes at the earliest. Lines hold the name of a
 * driver, which has no secrets, the path of a manifest, the code of the error, and the key of the first
 * object that is left out. They hold no other keys, and no messages of underlying errors.
 */
export class DefaultEventLog {
  readonly #events: SafeEmitter<HierarchyEvents>;
  readonly #tiers: readonly Tier[];
  readonly #clock: Clock;
  readonly #warn: (line: string, event: string) => void;
  readonly #toldAt = new Map<string, number>();
  /** The last failure on each level, in words. */
  readonly #lastFaults = new Map<number, string>();
  readonly #tellers: Tellers = {
    tierFault: ({ level, operation, error }) => {
      const isOpening = operation === 'open' || operation === 'openIndex';
      const why = isOpening ? ownWords(error) : meaningOf(error);
      this.#lastFaults.set(level, why);
      if (!isOpening) return undefined;
      return [`${level} closed`, `${this.#nameOf(level)} cannot be used (${why}); it is tried again`];
    },
    tierOutOfService: ({ level, use }) => {
      const why = this.#lastFaults.get(level) ?? meaningOf(undefined);
      return [
        `${level} ${use}`,
        `${this.#nameOf(level)} is passed over for ${use}s (${why}), which makes reads slower; it is tried again`,
      ];
    },
    tierShrunk: ({ level, quotaBytes }) => [
      `${level} full`,
      `the storage of ${this.#nameOf(level)} is full; it holds no more than ${formatBytes(quotaBytes)} until the next start`,
    ],
    leftOut: ({ reason, count, key }) => [
      `left out ${reason}`,
      count === 1
        ? `${JSON.stringify(key)} of the source is left out, as ${reason}`
        : `${JSON.stringify(key)} and ${count === 2 ? 'another object' : `${(count - 1).toLocaleString('en')} other objects`} of the source are left out, as ${reason}`,
    ],
    sourceReplaced: ({ level, source }) => [
      `${level} replaced`,
      `${source} has other data than ${this.#nameOf(level)} has copies of, such as another file system at that path; the data is ` +
        `fetched anew, and these copies take their room until the tier is emptied`,
    ],
    manifestFailed: ({ path, operation, error }) => [
      `manifest ${operation}`,
      operation === 'load'
        ? `the manifest ${path} cannot be read (${ownWords(error)}); the source is listed instead`
        : `the manifest ${path} cannot be written (${ownWords(error)}); the next start lists the source again`,
    ],
  };

  /**
   * @param warn Takes a line. Default: `process.emitWarning`, at most 10 lines in ten minutes over all
   * hierarchies, which also tell programmers which event to listen to.
   */
  constructor(
    events: SafeEmitter<HierarchyEvents>,
    tiers: readonly Tier[],
    clock: Clock,
    warn: (line: string, event: string) => void = warnProcess,
  ) {
    this.#events = events;
    this.#tiers = tiers;
    this.#clock = clock;
    this.#warn = warn;
  }

  /**
   * Logs an event that has no listener. A listener for faults of tiers already knows the consequences of the
   * faults.
   */
  tell(event: unknown, payload: unknown): void {
    // Most events are not logged, and there is one for each placed object.
    if (!Object.hasOwn(this.#tellers, event as string)) return;
    const teller = this.#tellers[event as Told] as (payload: unknown) => Line | undefined;
    const line = teller(payload);
    if (line === undefined) return;
    const followsFromFaults = event === 'tierFault' || event === 'tierOutOfService';
    if (followsFromFaults && this.#events.listenerCount('tierFault') > 0) return;
    const [name, text] = line;
    const now = this.#clock.now();
    if (now - (this.#toldAt.get(name) ?? -Infinity) < QUIET_MS) return;
    this.#toldAt.set(name, now);
    this.#warn(`${text}.`, String(event));
  }

  #nameOf(level: number): string {
    return `tier ${level} (${this.#tiers[level]?.driver.name})`;
  }
}

/**
 * Returns the message of an error, for work that concerns no key. Messages of `TieredError` hold no secrets.
 */
function ownWords(error: unknown): string {
  return isTieredError(error) ? `${error.code}: ${error.message.replace(/\.$/, '')}` : meaningOf(error);
}

let begunAt = -Infinity;
let lines = 0;

function warnProcess(line: string, event: string): void {
  const now = systemClock.now();
  if (now - begunAt >= QUIET_MS) [begunAt, lines] = [now, 0];
  lines += 1;
  if (lines <= MOST_LINES) process.emitWarning(`${line} ${forProgrammers(event)}`, 'TieredWarning');
}

function forProgrammers(event: string): string {
  return `Listen to the event '${event}' of the hierarchy to handle this yourself.`;
}
