import type { Clock } from '@tiered/core';
import { LateWatch, onAbort } from '@tiered/core/internal';
import { Failure, LateError, meaningOf } from './failures.js';
import { Places } from './places.js';
import type { Argument, Reply, Send, Session } from './session.js';

/** Dependencies of `Server`. */
export interface ServerParts {
  /** Begins to connect. */
  readonly connect: () => Session;
  /** Milliseconds for a command, including its wait for its turn and for a connection. */
  readonly timeoutMs: number;
  /** The most commands in flight, and the most of their bytes. */
  readonly concurrency: number;
  readonly memory: number;
  readonly clock: Clock;
}

/** Options of `Server.send`. */
export interface SendOptions {
  /** Bytes that are sent, or expected. */
  readonly bytes: number;
  readonly signal: AbortSignal | undefined;
  /** Whether an abort waits for the answer once the command was sent. Default: false. */
  readonly isAwaited?: boolean;
}

/** Overhead of a command besides its bytes. */
const OVERHEAD = 512;

/**
 * Milliseconds between two sessions while the first is still open. If one server of a cluster is gone, not
 * every command may end the connections to the others.
 */
const RENEWAL_MS = 1000;

/**
 * A server, or several, for as long as a driver is open. It connects when needed, and reconnects after the
 * connection was lost. Every command ends in time. A command keeps its place until it is answered or its
 * connection is gone, so commands in flight stay bounded while a server hangs.
 */
export class Server {
  readonly #parts: ServerParts;
  readonly #places: Places;
  readonly #late: LateWatch;
  /** Retired sessions, each with a function that stops the wait for it. */
  readonly #retired = new Map<Session, () => void>();
  #session: Session | undefined;
  #madeAt = -Infinity;

  constructor(parts: ServerParts) {
    this.#parts = parts;
    this.#places = new Places(parts.concurrency, parts.memory);
    this.#late = new LateWatch(parts.clock);
  }

  /** Connections that are open. */
  get connections(): number {
    let count = this.#session?.connections ?? 0;
    for (const { connections } of this.#retired.keys()) count += connections;
    return count;
  }

  /** Sends a command about one key. An abort rejects at once; the command is not undone. */
  send(key: string, args: readonly Argument[], options: SendOptions): Promise<Reply> {
    return this.#run((session) => session.send(key, args), options);
  }

  /** The servers that have keys, each as a function that sends it a command. */
  async masters(signal: AbortSignal | undefined): Promise<((args: readonly Argument[]) => Promise<Reply>)[]> {
    const options = { bytes: 0, signal };
    const masters = await this.#run(async (session) => session.masters(), options);
    return masters.map((send: Send) => (args) => this.#run(() => send(args), options));
  }

  /** Ends all connections. Commands in flight reject. */
  async close(): Promise<void> {
    if (this.#session !== undefined) this.#retire(this.#session);
    const sessions = [...this.#retired.keys()];
    for (const [session, forget] of this.#retired) {
      forget();
      session.destroy();
    }
    await Promise.allSettled(sessions.map(({ ready }) => ready));
  }

  #run<T>(
    work: (session: Session) => Promise<T>,
    { bytes, signal, isAwaited = false }: SendOptions,
  ): Promise<T> {
    const weight = bytes + OVERHEAD;
    let session: Session | undefined;
    let state: 'waits' | 'sent' | 'over' = 'waits';
    let stop: (() => void)[] = [];
    const outcome = new Promise<T>((resolve, reject) => {
      const leaveQueue = this.#places.enter(weight, () => {
        session = this.#usable();
        const send = (used: Session) => {
          if (state === 'over') throw UNWANTED;
          state = 'sent';
          return work(used);
        };
        this.#answered(session, send, weight).then(resolve, reject);
      });
      const ended = (why: Error) => {
        state = 'over';
        leaveQueue();
        reject(why);
      };
      const aborted = (reason: Error) => {
        if (!isAwaited || state !== 'sent') ended(reason);
      };
      const late = () => {
        ended(new Failure(new LateError(`no answer within ${this.#parts.timeoutMs} ms`)));
        if (session !== undefined) this.#retire(session);
      };
      stop = [onAbort(signal, aborted), this.#late.after(this.#parts.timeoutMs, late)];
    });
    return outcome.finally(() => stop.forEach((each) => each()));
  }

  /** Waits for a session, sends, and frees the place once an answer has come or can no longer come. */
  async #answered<T>(session: Session, send: (session: Session) => Promise<T>, weight: number): Promise<T> {
    const leave = once(() => this.#places.leave(weight));
    const stopWaiting = onAbort(session.gone, leave);
    try {
      await session.ready;
      return await send(session);
    } catch (error) {
      if (error !== UNWANTED) this.#failed(session, error);
      throw new Failure(error);
    } finally {
      stopWaiting();
      leave();
    }
  }

  /** The session that is open, or a new one. */
  #usable(): Session {
    if (this.#session?.isOpen === false) this.#retire(this.#session);
    if (this.#session === undefined) {
      this.#session = this.#parts.connect();
      this.#madeAt = this.#parts.clock.now();
    }
    return this.#session;
  }

  /**
   * Handles a failure that is not about the command: another session may succeed, for example after a
   * failover.
   */
  #failed(session: Session, error: unknown): void {
    if (meaningOf(error).code !== 'TIERED_UNAVAILABLE') return;
    const isFresh = this.#parts.clock.now() - this.#madeAt < RENEWAL_MS;
    if (!session.isOpen || !isFresh) this.#retire(session);
  }

  /** Stops using a session. Sent commands may still be answered for a while. */
  #retire(session: Session): void {
    if (this.#session === session) this.#session = undefined;
    if (this.#retired.has(session) || session.gone.aborted) return;
    const stop = this.#late.after(this.#parts.timeoutMs, () => session.destroy());
    const forget = () => {
      stop();
      this.#retired.delete(session);
    };
    this.#retired.set(session, forget);
    onAbort(session.gone, forget);
    session.close().catch(() => session.destroy());
  }
}

/** The error of an unsent command that is no longer waited for. It says nothing about its session. */
const UNWANTED = new Error('nobody waits any more');

function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) work();
    isDone = true;
  };
}
