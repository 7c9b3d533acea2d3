import { getEventListeners } from 'node:events';
import assert from 'node:assert/strict';
import type { HierarchyStats } from '../hierarchy/stats.js';
import type { TraceChannel } from '../tracing/channels.js';

/** How many listeners wait for the signal to abort. Zero at the end of a test means that none leaked. */
export function listenersOn(signal: AbortSignal): number {
  return getEventListeners(signal, 'abort').length;
}

/** Records how a promise settles; empty until then. */
export function outcomeOf<T>(promise: Promise<T>): { value?: T; error?: unknown } {
  const outcome: { value?: T; error?: unknown } = {};
  promise.then(
    (value) => (outcome.value = value),
    (error: unknown) => (outcome.error = error),
  );
  return outcome;
}

/**
 * Asserts that a hierarchy holds nothing: no read, no fetch, no memory for one, no reservation. For
 * teardowns.
 */
export function assertNothingHeld({ activeReads, placement, tiers }: HierarchyStats): void {
  const { fetching, fetchingBytes } = placement;
  const reserved = tiers.map(({ reservedBytes }) => reservedBytes);
  const nothing = { activeReads: 0, fetching: 0, fetchingBytes: 0, reserved: tiers.map(() => 0) };
  assert.deepEqual({ activeReads, fetching, fetchingBytes, reserved }, nothing);
}

type Event = 'start' | 'end' | 'asyncStart' | 'asyncEnd' | 'error';

/** Records everything that a channel publishes, until it is disposed of. */
export class TraceLog<Context extends object> implements Disposable {
  readonly #channel: TraceChannel<Context>;
  readonly #subscribers: Record<Event, (context: Context) => void>;
  readonly #courses = new Map<Context, Event[]>();

  constructor(channel: TraceChannel<Context>) {
    this.#channel = channel;
    const note = (event: Event) => (context: Context) => {
      this.#courses.set(context, [...(this.#courses.get(context) ?? []), event]);
    };
    this.#subscribers = {
      start: note('start'),
      end: note('end'),
      asyncStart: note('asyncStart'),
      asyncEnd: note('asyncEnd'),
      error: note('error'),
    };
    channel.subscribe(this.#subscribers);
  }

  /** The contexts, in order of their start, as they are now. */
  get traces(): Context[] {
    return [...this.#courses.keys()];
  }

  /** The events of each context, in order, such as `start end asyncStart asyncEnd`. */
  get courses(): string[] {
    return [...this.#courses.values()].map((events) => events.join(' '));
  }

  /** Ends the log. */
  [Symbol.dispose](): void {
    this.#channel.unsubscribe(this.#subscribers);
  }
}
