import { isTieredError, type Clock } from '@tiered/core';
import { onAbort } from '@tiered/core/internal';
import type { Haste } from '../../fill/haste.js';
import type { IndexClient } from './index-client.js';
import { PAGE_BYTES } from './thread/schema.js';
import type { Applied, Batch, ClaimRow, CopyRef, MovedRow, PackedRow, PlacedRow } from './index-messages.js';

/** How long to leave the index to another writer, in milliseconds: at first, and at most. */
const FIRST_PAUSE_MS = 2;
const LAST_PAUSE_MS = 50;
/** A transaction takes less; where it does not, the disk hangs, and nobody is to wait for it either, in milliseconds. */
const LONGEST_CALL_MS = 2000;

/**
 * Turns of the event loop before a transaction begins: what is asked for meanwhile comes along. A loop that is idle turns in
 * microseconds, and one that is busy has the more to gather. Without them there is a transaction for every small file.
 */
const TURNS_TO_GATHER = 8;

/**
 * From one transaction to the next, in milliseconds, while nobody waits for it: there are claims alone. A transaction costs as much as a dozen of
 * its rows, and copies come from a source one by one. So long the memory of a copy is held; no reader waits for it.
 */
const GAP_MS = 10;

/** Why a watch ends; made once, because an abort without a reason makes an error with a stack. */
const ENDED = new Error('the call has ended');

/** Why a pause ends. */
const HURRIED = new Error('somebody waits for the transaction');

type Change =
  | { readonly kind: 'claims'; readonly row: ClaimRow }
  | { readonly kind: 'placed'; readonly row: PlacedRow }
  | { readonly kind: 'packed'; readonly row: PackedRow }
  | { readonly kind: 'moved'; readonly row: MovedRow }
  | { readonly kind: 'sealed' | 'leaving' | 'gone'; readonly row: CopyRef };

/**
 * Changes that nobody waits for, as long as there is memory for copies and room in the lease. Not what is placed: where the storage is full
 * a transaction fails, and all files that are there and not recorded are lost.
 */
const MAY_WAIT: readonly Change['kind'][] = ['claims'];

/** Changes that others may have made impossible. */
const MAY_BE_REFUSED: readonly Change['kind'][] = ['claims', 'placed', 'packed', 'moved', 'sealed'];

/** A change, with who waits for it. */
type Entry = Change & {
  readonly resolve: (isDone: boolean) => void;
  readonly reject: (error: unknown) => void;
};

/** What the next transaction is to bring about. */
class Pending {
  /** In the order in which they were asked for, so that no change of a copy comes before an earlier one. */
  entries: Entry[] = [];
  quota: number | undefined;
  seen: number | undefined;
  isDue = false;
  /** Whether somebody waits for it. */
  isUrgent = false;
  /** Pages that it may change. */
  pages = 0;
  /** Told when it has ended, whatever became of it. */
  readonly told: (() => void)[] = [];

  /** Leaves those entries to another transaction that are too many for this one. */
  split(mostPages: number): Pending {
    const rest = new Pending();
    let [count, pages] = [0, 0];
    for (const entry of this.entries) {
      const ofEntry = pagesOf(entry);
      if (pages + ofEntry > mostPages && count > 0) break;
      pages += ofEntry;
      count += 1;
    }
    rest.entries = this.entries.splice(count);
    rest.isDue = rest.entries.length > 0;
    rest.isUrgent = rest.isDue && this.isUrgent;
    rest.pages = this.pages - pages;
    this.pages = pages;
    return rest;
  }
}

/**
 * Pages that a change may change: those of the copy in the table and in the index over unfinished ones, which others seldom share where keys
 * are read in a random order; and what it takes to split them, by and by. Checksums of large copies have pages of their own.
 */
const PAGES_A_ROW = 4;
/** A copy in a segment changes the table alone, and comes with others in the order of their keys. */
const PAGES_A_PACKED_ROW = 2;
/** So much of a key is worth one page more: long ones fill pages soon, so that these split more often, and lie deeper. */
const KEY_CHARS_A_PAGE = 128;

function pagesOf({ kind, row }: Entry): number {
  const hasSums = kind === 'placed' || kind === 'packed' || kind === 'moved';
  const sumsBytes = hasSums ? row.sums.byteLength : 0;
  const pages = kind === 'packed' ? PAGES_A_PACKED_ROW : PAGES_A_ROW;
  return pages + Math.floor(row.key.length / KEY_CHARS_A_PAGE) + Math.floor(sumsBytes / PAGE_BYTES);
}

/** When a writer ends. */
export interface WriterEnds {
  /** Nothing is written any more. */
  readonly ended: AbortSignal;
  /** Everything is about to end: who is held up by another process gives up, and others clear up what that leaves. */
  readonly ending: AbortSignal;
}

/** What a writer is made of. */
export interface IndexWriterParts {
  readonly client: IndexClient;
  readonly member: string;
  readonly clock: Clock;
  readonly leases: Leases;
  readonly ends: WriterEnds;
  /** Whether somebody waits for what is gathered. */
  readonly haste: Pick<Haste, 'is' | 'on'>;
}

/** What a writer asks its store about each transaction. */
export interface Leases {
  /** Pages that one transaction may change: the log has room for so many beyond its length. */
  readonly mostPages: number;
  /** What the transaction is to say of leases and of directories. */
  terms(): Pick<Batch, 'wants' | 'spare' | 'hold' | 'overhead'>;
  /** What became of it, and for which claims. What was emptied is the store's to delete. */
  applied(outcome: Applied, claims: readonly ClaimRow[]): void;
  /** It failed; nothing was changed. */
  failed(terms: ReturnType<Leases['terms']>, claims: readonly ClaimRow[]): void;
}

/**
 * Gathers changes of an index, and makes them in as few transactions as there is time for: while one is under way, and for a moment
 * after that if nobody waits, the next fills, up to what the log has room for. So a thousand small files cost some dozens, and two processes
 * that write without pause leave each other time.
 */
export class IndexWriter {
  readonly #client: IndexClient;
  readonly #member: string;
  readonly #clock: Clock;
  readonly #leases: Leases;
  readonly #ends: WriterEnds;
  readonly #haste: Pick<Haste, 'is' | 'on'>;
  /** Ends the pause between two transactions, if there is one now. */
  #pause: AbortController | undefined;
  /** When the next transaction may begin that nobody waits for. */
  #nextAt = -Infinity;
  #pending = new Pending();
  #running: Promise<void> | undefined;
  #isHeldUp = false;
  #onHeldUp: (() => void)[] = [];

  constructor({ client, member, clock, leases, ends, haste }: IndexWriterParts) {
    this.#client = client;
    this.#member = member;
    this.#clock = clock;
    this.#leases = leases;
    this.#ends = ends;
    this.#haste = haste;
    const hurry = () => this.#hurry();
    const notHasty = haste.on(hurry);
    const notEnding = onAbort(ends.ending, hurry);
    onAbort(ends.ended, () => {
      notHasty();
      notEnding();
      hurry();
    });
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
    return this.#add({ kind: 'claims', row });
  }

  /** False if the copy was claimed no more. */
  placed(row: PlacedRow): Promise<boolean> {
    return this.#add({ kind: 'placed', row });
  }

  /** False if another process has such a copy, or the segment is this one's no more. */
  packed(row: PackedRow): Promise<boolean> {
    return this.#add({ kind: 'packed', row });
  }

  /** As `packed`; false also if it is not where it was any more. */
  moved(row: MovedRow): Promise<boolean> {
    return this.#add({ kind: 'moved', row });
  }

  /** Nothing more comes into a segment. False if nothing is in it: then it leaves. */
  sealed(row: CopyRef): Promise<boolean> {
    return this.#add({ kind: 'sealed', row });
  }

  /** From here on nobody is told of the copy. */
  async leaving(row: CopyRef): Promise<void> {
    await this.#add({ kind: 'leaving', row });
  }

  /** The file of a copy that was leaving, or was claimed, is not there. */
  async gone(row: CopyRef): Promise<void> {
    await this.#add({ kind: 'gone', row });
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

  /** Has a transaction made at once, also if there is nothing but terms. */
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

  /** Ends the pause, if somebody waits. */
  #hurry(): void {
    if (this.#isUrgent) this.#pause?.abort(HURRIED);
  }

  get #isUrgent(): boolean {
    const { isUrgent, pages } = this.#pending;
    const isFull = pages >= this.#leases.mostPages;
    return isUrgent || isFull || this.#haste.is || this.#ends.ended.aborted || this.#ends.ending.aborted;
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
    this.#pending.isUrgent = true;
    this.#hurry();
    while (this.#running !== undefined) await this.#running;
  }

  #add(change: Change): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const entry = { ...change, resolve, reject };
      this.#pending.entries.push(entry);
      this.#pending.pages += pagesOf(entry);
      if (!MAY_WAIT.includes(change.kind)) this.#pending.isUrgent = true;
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
    if (leftMs > 0 && !this.#isUrgent) {
      this.#pause = new AbortController();
      await this.#clock.sleep(leftMs, this.#pause.signal).catch(() => undefined);
      this.#pause = undefined;
    }
    for (let turns = 0; turns < TURNS_TO_GATHER; turns++) await this.#clock.turn();
    this.#nextAt = this.#clock.now() + GAP_MS;
  }

  async #write(pending: Pending): Promise<void> {
    const terms = this.#leases.terms();
    const claims = pending.entries.flatMap(({ kind, row }) => (kind === 'claims' ? [row] : []));
    const batch: Batch = {
      ...terms,
      member: this.#member,
      quota: pending.quota,
      seen: pending.seen,
      claims,
      placed: pending.entries.flatMap(({ kind, row }) => (kind === 'placed' ? [row] : [])),
      packed: pending.entries.flatMap(({ kind, row }) => (kind === 'packed' ? [row] : [])),
      moved: pending.entries.flatMap(({ kind, row }) => (kind === 'moved' ? [row] : [])),
      sealed: pending.entries.flatMap(({ kind, row }) => (kind === 'sealed' ? [row] : [])),
      leaving: pending.entries.flatMap(({ kind, row }) => (kind === 'leaving' ? [row] : [])),
      gone: pending.entries.flatMap(({ kind, row }) => (kind === 'gone' ? [row] : [])),
    };
    try {
      const outcome = await this.patiently(() => this.#client.call('apply', batch));
      this.#leases.applied(outcome, claims);
      const refused = new Set([...outcome.refused, ...outcome.lost]);
      for (const { kind, row, resolve } of pending.entries) {
        resolve(outcome.isMember && !(MAY_BE_REFUSED.includes(kind) && refused.has(row.tag)));
      }
    } catch (error) {
      this.#leases.failed(terms, claims);
      // Nobody waits for these, and nobody says them again: they go with the next one.
      this.#pending.quota ??= pending.quota;
      this.#pending.seen ??= pending.seen;
      for (const { reject } of pending.entries) reject(error);
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
      done.abort(ENDED);
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
