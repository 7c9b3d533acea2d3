import { isTieredError, type Clock } from '@tiered/core';
import { onAbort } from '@tiered/core/internal';
import type { FlushUrgency } from '../memory/flush-urgency.js';
import type { IndexClient } from './index-client.js';
import type { Applied, Batch } from './index-messages.js';
import { Pending, type Change } from './pending.js';
import type { ClaimRow, CopyRef, MovedRow, PackedRow, PlacedRow } from '../tier/copy-rows.js';

/** Milliseconds for which the index is left to another writer: the first pause, and the longest. */
const FIRST_PAUSE_MS = 2;
const LAST_PAUSE_MS = 50;
/**
 * Maximum milliseconds of a transaction. If it takes longer, the disk hangs, and callers should not wait for
 * it either.
 */
const LONGEST_CALL_MS = 2000;

/**
 * Turns of the event loop before a transaction with room for more begins, so that it includes changes
 * requested meanwhile. An idle loop turns in microseconds, and a busy one has more to gather. Without these
 * turns every small file would cost a transaction.
 */
const TURNS_TO_GATHER = 8;
/**
 * Milliseconds after which it begins regardless of the turns. In a training loop that computes, a turn takes
 * as long as a transaction.
 */
const GATHER_MS = 2;

/**
 * Milliseconds between transactions that no caller waits for. A transaction costs as much as a dozen of its
 * rows, and copies come from a source one by one. The memory of a copy is held for this long, and so is the
 * turn of a written file; no reader waits for it.
 */
const GAP_MS = 10;

/** Ends a watch. One shared error, because an abort without a reason creates one with a stack. */
const ENDED = new Error('the call has ended');

/** Ends a pause. */
const HURRIED = new Error('somebody waits for the transaction');

/** Storage with this many free bytes, beyond all bytes in flight, does not count as nearly full. */
const LEAST_FREE_BYTES = 2 ** 26;

/** Changes that other processes may have made impossible. */
const MAY_BE_REFUSED: readonly Change['kind'][] = ['claims', 'placed', 'packed', 'moved', 'sealed'];

/** The signals that end a writer. */
export interface WriterEnds {
  /** Nothing is written any more. */
  readonly ended: AbortSignal;
  /**
   * Everything is about to end. A writer that another process blocks gives up, and others clean up after it.
   */
  readonly ending: AbortSignal;
}

/** Dependencies of `IndexWriter`. */
export interface IndexWriterParts {
  readonly client: IndexClient;
  readonly member: string;
  readonly clock: Clock;
  readonly leases: Leases;
  readonly ends: WriterEnds;
  /** Whether a caller waits for the gathered changes. */
  readonly urgency: FlushUrgency;
  /** Whether another process waits for them. Default: none does. */
  readonly isWaitedFor?: (() => boolean) | undefined;
}

/** The part of a store that a writer calls for each transaction. */
export interface Leases {
  /**
   * Maximum number of pages that one transaction may change: the log has room for this many beyond its
   * length.
   */
  readonly mostPages: number;
  /** The terms of the transaction: leases, and bytes of directories. */
  terms(): Pick<Batch, 'wants' | 'spare' | 'hold' | 'directoryBytes'>;
  /** Called once the transaction was made, with its claims. The store must delete the emptied segments. */
  applied(outcome: Applied, claims: readonly ClaimRow[]): void;
  /** Called if the transaction failed and nothing was changed. */
  failed(claims: readonly ClaimRow[]): void;
}

/**
 * Gathers changes of an index into few transactions. While one is in progress, and for a moment after it if
 * no caller waits, the next one fills, up to the room of the log. So a thousand small files cost some dozens
 * of transactions, and two processes that write without pause leave each other time.
 */
export class IndexWriter {
  readonly #client: IndexClient;
  readonly #member: string;
  readonly #clock: Clock;
  readonly #leases: Leases;
  readonly #ends: WriterEnds;
  readonly #urgency: FlushUrgency;
  readonly #isWaitedFor: () => boolean;
  /** Ends the pause between two transactions, if there is one now. */
  #pause: AbortController | undefined;
  /** Time at which the next transaction may begin if no caller waits for it. */
  #nextAt = -Infinity;
  #pending = new Pending();
  #running: Promise<void> | undefined;
  /** Whether the storage had room for everything in flight, and more, at the last transaction. */
  #isRoomy = false;
  #isHeldUp = false;
  #onHeldUp: (() => void)[] = [];

  constructor({ client, member, clock, leases, ends, urgency, isWaitedFor }: IndexWriterParts) {
    this.#isWaitedFor = isWaitedFor ?? (() => false);
    this.#client = client;
    this.#member = member;
    this.#clock = clock;
    this.#leases = leases;
    this.#ends = ends;
    this.#urgency = urgency;
    const hurry = () => this.#hurry();
    urgency.on('urgent', hurry);
    const notEnding = onAbort(ends.ending, hurry);
    onAbort(ends.ended, () => {
      urgency.off('urgent', hurry);
      notEnding();
      hurry();
    });
  }

  /** Whether another process blocks this one: it has prevented all writes since the last successful one. */
  get isHeldUp(): boolean {
    return this.#isHeldUp;
  }

  /** Resolves if another process blocks this one; otherwise never. */
  heldUp(): Promise<void> {
    return new Promise((resolve) => this.#onHeldUp.push(resolve));
  }

  /** Records a claim. False if another process has the same copy or is making it. */
  claim(row: ClaimRow): Promise<boolean> {
    return this.#add({ kind: 'claims', row });
  }

  /** Records that a copy is placed. False if its claim is gone. */
  placed(row: PlacedRow): Promise<boolean> {
    return this.#add({ kind: 'placed', row });
  }

  /**
   * Records a copy in a segment. False if another process has the same copy, or the segment does not belong
   * to this process any more.
   */
  packed(row: PackedRow): Promise<boolean> {
    return this.#add({ kind: 'packed', row });
  }

  /** As `packed`. Also false if the copy is not in its old place any more. */
  moved(row: MovedRow): Promise<boolean> {
    return this.#add({ kind: 'moved', row });
  }

  /** Seals a segment, which then gets no more copies. False if it is empty: then it is removed. */
  sealed(row: CopyRef): Promise<boolean> {
    return this.#add({ kind: 'sealed', row });
  }

  /** Takes a copy out of the index, so that no process finds it any more. */
  async leaving(row: CopyRef): Promise<void> {
    await this.#add({ kind: 'leaving', row });
  }

  /** Records that a leaving or claimed copy has no file any more. */
  async gone(row: CopyRef): Promise<void> {
    await this.#add({ kind: 'gone', row });
  }

  /** Records that this process has no removed copy open up to this sequence number. */
  seen(seq: number): void {
    this.#pending.seen = seq;
    this.write();
  }

  /** Records the bytes that this member lets the tier hold. */
  quota(bytes: number): void {
    this.#pending.quota = bytes;
    this.write();
  }

  /** Makes a transaction at once, even if it has only terms. */
  write(): void {
    this.#pending.isUrgent = true;
    this.#begin();
    this.#hurry();
  }

  #begin(): void {
    this.#pending.isDue = true;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      this.#onHeldUp = [];
      if (this.#pending.isDue) this.#begin();
    });
  }

  /** Ends the pause, if a caller waits. */
  #hurry(): void {
    if (this.#isUrgent) this.#pause?.abort(HURRIED);
  }

  get #isFull(): boolean {
    return this.#pending.pages >= this.#leases.mostPages;
  }

  get #isUrgent(): boolean {
    const { isUrgent } = this.#pending;
    return (
      isUrgent ||
      this.#isFull ||
      this.#urgency.isNeeded ||
      this.#urgency.isTurnWaitedFor ||
      this.#ends.ended.aborted ||
      this.#ends.ending.aborted
    );
  }

  /** Resolves once the next transaction has ended. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#pending.told.push(resolve);
      this.write();
    });
  }

  /** Resolves once nothing is in progress. */
  async settled(): Promise<void> {
    this.#pending.isUrgent = true;
    this.#hurry();
    while (this.#running !== undefined) await this.#running;
  }

  /**
   * Whether a change may wait, as long as there are memory for copies, room in the lease and turns for
   * writes. On nearly full storage, unrecorded files may leave the index no room, and are then lost.
   */
  #mayWait(kind: Change['kind']): boolean {
    return kind === 'claims' || (kind === 'placed' && this.#isRoomy);
  }

  #add(change: Change): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const entry = { ...change, resolve, reject };
      this.#pending.add(entry);
      if (!this.#mayWait(change.kind)) this.#pending.isUrgent = true;
      this.#begin();
      this.#hurry();
    });
  }

  async #run(): Promise<void> {
    while (this.#pending.isDue) {
      await this.#gather();
      const pending = this.#pending;
      this.#pending = pending.split(this.#leases.mostPages);
      await this.#write(pending);
    }
  }

  async #gather(): Promise<void> {
    const leftMs = this.#nextAt - this.#clock.now();
    if (leftMs > 0 && !this.#isUrgent && !this.#isWaitedFor()) {
      this.#pause = new AbortController();
      await this.#clock.sleep(leftMs, this.#pause.signal).catch(() => undefined);
      this.#pause = undefined;
    }
    const until = this.#clock.now() + GATHER_MS;
    for (let turns = 0; turns < TURNS_TO_GATHER && !this.#isFull; turns++) {
      await this.#clock.turn();
      if (this.#clock.now() >= until) break;
    }
    this.#nextAt = this.#clock.now() + GAP_MS;
  }

  async #write(pending: Pending): Promise<void> {
    const { entries } = pending;
    const terms = this.#leases.terms();
    const claims = pending.claims.map(({ row }) => row);
    const batch: Batch = {
      ...terms,
      member: this.#member,
      quota: pending.quota,
      seen: pending.seen,
      claims,
      placed: entries.flatMap(({ kind, row }) => (kind === 'placed' ? [row] : [])),
      packed: entries.flatMap(({ kind, row }) => (kind === 'packed' ? [row] : [])),
      moved: entries.flatMap(({ kind, row }) => (kind === 'moved' ? [row] : [])),
      sealed: entries.flatMap(({ kind, row }) => (kind === 'sealed' ? [row] : [])),
      leaving: entries.flatMap(({ kind, row }) => (kind === 'leaving' ? [row] : [])),
      gone: entries.flatMap(({ kind, row }) => (kind === 'gone' ? [row] : [])),
    };
    try {
      const outcome = await this.patiently(() => this.#client.call('apply', batch));
      const { freeBytes = 0, claimed } = outcome.state;
      this.#isRoomy = freeBytes >= 2 * claimed + LEAST_FREE_BYTES;
      this.#leases.applied(outcome, claims);
      const refused = new Set([...outcome.refused, ...outcome.lost]);
      for (const { kind, row, resolve } of entries)
        resolve(outcome.isMember && !(MAY_BE_REFUSED.includes(kind) && refused.has(row.tag)));
    } catch (error) {
      this.#leases.failed(claims);
      // No caller waits for these or repeats them, so they go into the next transaction.
      this.#pending.quota ??= pending.quota;
      this.#pending.seen ??= pending.seen;
      for (const { reject } of entries) reject(error);
    } finally {
      for (const tell of pending.told) tell();
    }
  }

  /** Makes a call. If it takes too long, the writer counts as blocked. */
  async #watched<T>(call: () => Promise<T>): Promise<T> {
    const done = new AbortController();
    this.#clock.sleep(LONGEST_CALL_MS, done.signal, { background: true }).then(
      () => this.#holdUp(),
      () => undefined,
    );
    try {
      return await call();
    } finally {
      done.abort(ENDED);
    }
  }

  #holdUp(): void {
    this.#isHeldUp = true;
    for (const told of this.#onHeldUp.splice(0)) told();
  }

  /** Repeats a call while another process writes, which may have been stopped in the middle. */
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
