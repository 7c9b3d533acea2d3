import type { Clock } from '@tiered/core';
import { LateWatch, onAbort } from '@tiered/core/internal';
import { Failure, LateError, meaningOf } from './failures.js';
import { Places } from './places.js';
import type { Argument, Reply, Send, Session } from './session.js';

/** What a server is told. */
export interface ServerParts {
  /** Begins to connect. */
  readonly connect: () => Session;
  /** Milliseconds for a command, with its wait for its turn and for a connection. */
  readonly timeoutMs: number;
  /** Commands under way, and their bytes, at most. */
  readonly concurrency: number;
  readonly memory: number;
  readonly clock: Clock;
}

/** How a command is sent. */
export interface SendOptions {
  /** Bytes that go out, or that are expected. */
  readonly bytes: number;
  readonly signal: AbortSignal | undefined;
  /** Whether an abort waits for the answer, once the command was sent. Default: false. */
  readonly isAwaited?: boolean;
}

/** What a command takes beside its bytes. */
const OVERHEAD = 512;

/**
 * Milliseconds between two sessions as long as the first is still open. One server of a cluster that is gone
 * must not end the connections to the others for each command.
 */
const RENEWAL_MS = 1000;

/**
 * A server, or several, for as long as a driver is open. Connects when it is needed, and anew when the
 * connection was lost. A command ends in time in any case. It keeps its place until it is answered, or until
 * its connection is gone, so what is under way is bounded while a server hangs.
 */
export class Server {
  readonly #parts: ServerParts;
  readonly #places: Places;
  readonly #late: LateWatch;
  /** Sessions that are used no more, each with a way to wait for it no longer. */
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

  /** Sends a command about one key. An abort rejects at once; the command is not taken back. */
  send(key: string, args: readonly Argument[], options: SendOptions): Promise<Reply> {
    return this.#run((session) => session.send(key, args), options);
  }

  /** The servers that have keys, each as a way to send it a command. */
  async masters(signal: AbortSignal | undefined): Promise<((args: readonly Argument[]) => Promise<Reply>)[]> {
    const options = { bytes: 0, signal };
    const masters = await this.#run(async (session) => session.masters(), options);
    return masters.map((send: Send) => (args) => this.#run(() => send(args), options));
  }

  /** Ends all connections. Commands that are under way reject. */
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

  /** Waits for a session, sends, and gives the place back once there is an answer, or can be none. */
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

  /** After a failure that is not about the command another session may do better, as after a failover. */
  #failed(session: Session, error: unknown): void {
    if (meaningOf(error).code !== 'TIERED_UNAVAILABLE') return;
    const isFresh = this.#parts.clock.now() - this.#madeAt < RENEWAL_MS;
    if (!session.isOpen || !isFresh) this.#retire(session);
  }

  /** Uses a session no more. What was sent may still be answered for a while. */
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

/** Nobody waits any more for a command that was not sent. It says nothing about its session. */
const UNWANTED = new Error('nobody waits any more');

function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) work();
    isDone = true;
  };
}
