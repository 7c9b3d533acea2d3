import type { TraceChannel } from '../tracing/channels.js';

type Event = 'start' | 'end' | 'asyncStart' | 'asyncEnd' | 'error';

/** Takes note of all that a channel publishes, until it is disposed of. */
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
