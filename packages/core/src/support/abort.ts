import { setMaxListeners } from 'node:events';
import { Chain } from './chain.js';

/**
 * Who listens to a signal. Node searches all listeners of a signal for each that is added or removed, so it is given
 * one.
 */
interface Listening {
  readonly all: Chain<() => void>;
  readonly tell: () => void;
}

const listening = new WeakMap<AbortSignal, Listening>();

/**
 * Calls `listener` once if the signal aborts, also if it already has; returns how to stop listening. One signal for
 * ten thousand reads is how signals are meant to be used: each costs the same, however many listen.
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
    // Each before it is called: it may end others, or begin some.
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

/** Node keeps a signal that somebody listens to. */
function stopListening(signal: AbortSignal): void {
  const { tell } = listening.get(signal) ?? {};
  listening.delete(signal);
  if (tell !== undefined) signal.removeEventListener('abort', tell);
}

/**
 * Settles as `promise` does, or rejects with `signal.reason` as soon as the signal aborts. The work behind the
 * promise goes on; use it only where nobody else's memory is being written.
 */
export function raceAbort<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise<T>((resolve, reject) => {
    const stopListening = onAbort(signal, reject);
    void promise.then(resolve, reject).finally(stopListening);
  });
}

/**
 * Passes items on until the signal aborts: then it throws `signal.reason` at once, also while the producer stands
 * still. That one is told (`return`), but not waited for.
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

/** What the operations of one caller's signal run under. */
interface Shared {
  readonly controller: AbortController;
  readonly stopListening: () => void;
  running: number;
}

/**
 * Operations that share an end. Each runs under a signal that aborts with its caller's or when the scope is closed;
 * closing waits until all have settled. (`AbortSignal.any` over one long-lived signal keeps memory on Node 20.)
 * Operations that have the same caller's signal and overlap share theirs: to make one for each takes longer than to
 * read what is in memory.
 */
export class OperationScope {
  readonly #callers = new Map<AbortSignal | undefined, Shared>();
  #running = 0;
  #closeReason: Error | undefined;
  #onSettled: (() => void)[] = [];

  /** How many operations have not settled. */
  get size(): number {
    return this.#running;
  }

  /** Starts an operation; rejects at once if the scope is closed or the caller's signal has aborted. */
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

  /** As `run`, of what may fail: then `undefined`, unless the scope is closed. */
  async attempt<T>(operation: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
    try {
      return await this.run(undefined, operation);
    } catch {
      if (this.#closeReason !== undefined) throw this.#closeReason;
      return undefined;
    }
  }

  /** Aborts every operation with `reason`, refuses new ones with it, and waits until all have settled. Idempotent. */
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
