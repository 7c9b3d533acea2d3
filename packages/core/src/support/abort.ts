import { setMaxListeners } from 'node:events';
import { Chain } from './chain.js';

/**
 * The listeners of a signal. Node searches all listeners of a signal for each one that is added or removed,
 * so Node gets only one.
 */
interface Listening {
  readonly all: Chain<() => void>;
  readonly tell: () => void;
}

const listening = new WeakMap<AbortSignal, Listening>();

/**
 * Calls `listener` once if the signal aborts, or at once if it already has. Returns a function that stops
 * listening. The cost per listener does not depend on their number, so one signal may serve ten thousand
 * reads.
 */
export function onAbort(signal: AbortSignal | undefined, listener: (reason: Error) => void): () => void {
  if (signal === undefined) return () => undefined;
  const listen = () => listener(signal.reason as Error);
  if (signal.aborted) {
    listen();
    return () => undefined;
  }
  const { all } = listening.get(signal) ?? listenTo(signal);
  const link = all.add(listen);
  return () => {
    if (all.remove(link) && all.size === 0) stopListening(signal);
  };
}

function listenTo(signal: AbortSignal): Listening {
  const all = new Chain<() => void>();
  const tell = () => {
    // Removed before it is called, because it may remove other listeners, or add some.
    for (let next = all.first; next !== undefined; next = all.first) {
      all.remove(next);
      next.value();
    }
    listening.delete(signal);
  };
  const begun = { all, tell };
  listening.set(signal, begun);
  setMaxListeners(0, signal);
  signal.addEventListener('abort', tell, { once: true });
  return begun;
}

/** Node keeps a signal alive while it has listeners. */
function stopListening(signal: AbortSignal): void {
  const { tell } = listening.get(signal) ?? {};
  listening.delete(signal);
  if (tell !== undefined) signal.removeEventListener('abort', tell);
}

/**
 * Settles as `promise` does, or rejects with `signal.reason` as soon as the signal aborts. The work behind
 * the promise continues, so use this only if that work writes to its own memory alone.
 */
export function raceAbort<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise<T>((resolve, reject) => {
    const stopListening = onAbort(signal, reject);
    promise.then(
      (value) => {
        stopListening();
        resolve(value);
      },
      (error: unknown) => {
        stopListening();
        reject(error);
      },
    );
  });
}

/**
 * Passes items on until the signal aborts. It then throws `signal.reason` at once, even while the producer
 * stalls. The producer is told (`return`), but not awaited.
 */
export async function* untilAborted<T>(
  items: AsyncIterable<T> | Iterable<T>,
  signal: AbortSignal | undefined,
): AsyncGenerator<T, void, undefined> {
  const iterator = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  let isOver = false;
  try {
    for (;;) {
      signal?.throwIfAborted();
      const item = await raceAbort(Promise.resolve(iterator.next()), signal);
      isOver = item.done === true;
      if (item.done === true) return;
      yield item.value;
    }
  } finally {
    const told = isOver ? undefined : iterator.return?.();
    await raceAbort(Promise.resolve(told), signal).catch(() => undefined);
  }
}

/** The signal shared by all operations of one caller's signal. */
interface Shared {
  readonly controller: AbortController;
  readonly stopListening: () => void;
  running: number;
}

/**
 * Operations that end together. Each runs under a signal that aborts with its caller's, or when the scope is
 * closed. Closing waits until all have settled. (`AbortSignal.any` over one long-lived signal leaks memory on
 * Node 20.) Concurrent operations with the same caller's signal share one signal, because making one for each
 * takes longer than reading from memory.
 */
export class OperationScope {
  readonly #callers = new Map<AbortSignal | undefined, Shared>();
  #running = 0;
  #closeReason: Error | undefined;
  #onSettled: (() => void)[] = [];

  /** The number of operations that have not settled. */
  get size(): number {
    return this.#running;
  }

  /** Starts an operation. Rejects at once if the scope is closed or the caller's signal has aborted. */
  async run<T>(
    callerSignal: AbortSignal | undefined,
    operation: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    if (this.#closeReason !== undefined) throw this.#closeReason;
    callerSignal?.throwIfAborted();
    const shared = this.#callers.get(callerSignal) ?? this.#share(callerSignal);
    shared.running += 1;
    this.#running += 1;
    try {
      return await operation(shared.controller.signal);
    } finally {
      this.#settled(callerSignal, shared);
    }
  }

  /**
   * As `run`, for an operation that may fail. Resolves to `undefined` in that case, unless the scope is
   * closed.
   */
  async attempt<T>(operation: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
    try {
      return await this.run(undefined, operation);
    } catch {
      if (this.#closeReason !== undefined) throw this.#closeReason;
      return undefined;
    }
  }

  /**
   * Aborts every operation with `reason`, refuses new ones with it, and waits until all have settled.
   * Idempotent.
   */
  async close(reason: Error): Promise<void> {
    this.#closeReason ??= reason;
    for (const { controller } of [...this.#callers.values()]) controller.abort(reason);
    if (this.#running > 0) await new Promise<void>((resolve) => this.#onSettled.push(resolve));
  }

  #share(callerSignal: AbortSignal | undefined): Shared {
    const controller = new AbortController();
    const stopListening = onAbort(callerSignal, (reason) => controller.abort(reason));
    const shared = { controller, stopListening, running: 0 };
    this.#callers.set(callerSignal, shared);
    return shared;
  }

  #settled(callerSignal: AbortSignal | undefined, shared: Shared): void {
    shared.running -= 1;
    this.#running -= 1;
    if (shared.running === 0) {
      shared.stopListening();
      this.#callers.delete(callerSignal);
    }
    if (this.#running > 0) return;
    for (const resolve of this.#onSettled.splice(0)) resolve();
  }
}
