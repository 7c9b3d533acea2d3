import { isTieredError, type Clock } from '@tiered/core';
import type { IndexClient } from '../index-client.js';
import type { Applied, Batch, ClaimRow, CopyRef, PlacedRow } from './index-messages.js';

/** How long to leave the index to another writer, in milliseconds: at first, and at most. */
const FIRST_PAUSE_MS = 2;
const LAST_PAUSE_MS = 50;
/** A transaction takes less; where it does not, the disk hangs, and nobody is to wait for it either, in milliseconds. */
const LONGEST_CALL_MS = 2000;

/** Changes of one kind, with who waits for them. */
interface Entry<T> {
  readonly row: T;
  readonly resolve: (isDone: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/** What the next transaction is to bring about. */
class Pending {
  readonly claims: Entry<ClaimRow>[] = [];
  readonly placed: Entry<PlacedRow>[] = [];
  readonly leaving: Entry<CopyRef>[] = [];
  readonly gone: Entry<CopyRef>[] = [];
  quota: number | undefined;
  seen: number | undefined;
  isDue = false;
  /** Told when it has ended, whatever became of it. */
  readonly told: (() => void)[] = [];

  get all(): readonly Entry<unknown>[] {
    return [...this.claims, ...this.placed, ...this.leaving, ...this.gone];
  }
}

/** When a writer ends. */
export interface WriterEnds {
  /** Nothing is written any more. */
  readonly ended: AbortSignal;
  /** Everything is about to end: who is held up by another process gives up, and others clear up what that leaves. */
  readonly ending: AbortSignal;
}

/** What a writer asks its store about each transaction. */
export interface Leases {
  /** What the transaction is to say of leases and of directories. */
  terms(): Pick<Batch, 'wants' | 'spare' | 'hold' | 'overhead'>;
  /** What became of it, and for which claims. */
  applied(outcome: Applied, claims: readonly ClaimRow[]): void;
  /** It failed; nothing was changed. */
  failed(terms: ReturnType<Leases['terms']>, claims: readonly ClaimRow[]): void;
}

/**
 * Gathers changes of an index, and makes them in as few transactions as there is time for: while one is under way, the
 * next fills. So a thousand small files cost some dozens, and two processes that write without pause leave each other time.
 */
export class IndexWriter {
  readonly #client: IndexClient;
  readonly #member: string;
  readonly #clock: Clock;
  readonly #leases: Leases;
  readonly #ends: WriterEnds;
  #pending = new Pending();
  #running: Promise<void> | undefined;
  #isHeldUp = false;
  #onHeldUp: (() => void)[] = [];

  constructor(client: IndexClient, member: string, clock: Clock, leases: Leases, ends: WriterEnds) {
    this.#client = client;
    this.#member = member;
    this.#clock = clock;
    this.#leases = leases;
    this.#ends = ends;
  }

  /** Whether another process has kept this one from writing since it last could. */
  get isHeldUp(): boolean {
    return this.#isHeldUp;
  }

  /** Resolves when another process keeps this one from writing; else never. */
  heldUp(): Promise<void> {
    return new Promise((resolve) => this.#onHeldUp.push(resolve));
  }

  /** False if another process has such a copy, or makes it. */
  claim(row: ClaimRow): Promise<boolean> {
    return this.#add(this.#pending.claims, row);
  }

  /** False if the copy was claimed no more. */
  placed(row: PlacedRow): Promise<boolean> {
    return this.#add(this.#pending.placed, row);
  }

  /** From here on nobody is told of the copy. */
  async leaving(row: CopyRef): Promise<void> {
    await this.#add(this.#pending.leaving, row);
  }

  /** The file of a copy that was leaving, or was claimed, is not there. */
  async gone(row: CopyRef): Promise<void> {
    await this.#add(this.#pending.gone, row);
  }

  /** Nothing is open here of what left up to this number. */
  seen(seq: number): void {
    this.#pending.seen = seq;
    this.write();
  }

  /** What this member lets the tier hold. */
  quota(bytes: number): void {
    this.#pending.quota = bytes;
    this.write();
  }

  /** Has a transaction made, also if there is nothing but terms. */
  write(): void {
    this.#pending.isDue = true;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      this.#onHeldUp = [];
      if (this.#pending.isDue) this.write();
    });
  }

  /** Resolves when the next transaction has ended. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#pending.told.push(resolve);
      this.write();
    });
  }

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  #add<T>(entries: Entry<T>[], row: T): Promise<boolean> {
    return new Promise((resolve, reject) => {
      entries.push({ row, resolve, reject });
      this.write();
    });
  }

  async #run(): Promise<void> {
    // What else is asked for in this turn comes along.
    await Promise.resolve();
    while (this.#pending.isDue) {
      const pending = this.#pending;
      this.#pending = new Pending();
      await this.#write(pending);
    }
  }

  async #write(pending: Pending): Promise<void> {
    const rowsOf = <T>(entries: readonly Entry<T>[]) => entries.map(({ row }) => row);
    const terms = this.#leases.terms();
    const claims = rowsOf(pending.claims);
    const batch: Batch = {
      ...terms,
      member: this.#member,
      quota: pending.quota,
      seen: pending.seen,
      claims,
      placed: rowsOf(pending.placed),
      leaving: rowsOf(pending.leaving),
      gone: rowsOf(pending.gone),
    };
    try {
      const outcome = await this.patiently(() => this.#client.call('apply', batch));
      this.#leases.applied(outcome, claims);
      const refused = new Set([...outcome.refused, ...outcome.lost]);
      for (const { row, resolve } of [...pending.claims, ...pending.placed])
        resolve(outcome.isMember && !refused.has(row.tag));
      for (const { resolve } of [...pending.leaving, ...pending.gone]) resolve(outcome.isMember);
    } catch (error) {
      this.#leases.failed(terms, claims);
      // Nobody waits for these, and nobody says them again: they go with the next one.
      this.#pending.quota ??= pending.quota;
      this.#pending.seen ??= pending.seen;
      for (const { reject } of pending.all) reject(error);
    } finally {
      for (const tell of pending.told) tell();
    }
  }

  /** Makes a call; one that takes too long holds up who waits for the index. */
  async #watched<T>(call: () => Promise<T>): Promise<T> {
    const done = new AbortController();
    this.#clock.sleep(LONGEST_CALL_MS, done.signal, { background: true }).then(
      () => this.#holdUp(),
      () => undefined,
    );
    try {
      return await call();
    } finally {
      done.abort();
    }
  }

  #holdUp(): void {
    this.#isHeldUp = true;
    for (const told of this.#onHeldUp.splice(0)) told();
  }

  /** Makes a call again for as long as another process writes: that may be one that was stopped in the middle. */
  async patiently<T>(call: () => Promise<T>): Promise<T> {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LAST_PAUSE_MS, pauseMs * 2)) {
      try {
        const result = await this.#watched(call);
        this.#isHeldUp = false;
        return result;
      } catch (error) {
        const { ended, ending } = this.#ends;
        if (!isTieredError(error, 'TIERED_UNAVAILABLE') || ended.aborted) throw error;
        if (pauseMs === LAST_PAUSE_MS) this.#holdUp();
        if (ending.aborted && this.#isHeldUp) throw error;
        await this.#clock.sleep(pauseMs, ended);
      }
    }
  }
}
