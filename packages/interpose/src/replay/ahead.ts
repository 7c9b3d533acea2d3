/*
 * The problem: it is known what programs open next, and not all of it fits on the tiers. What is to be there,
 * and when is it to be brought?
 *
 * Fewest bytes are fetched if an object is fetched when it is opened and not there, and takes the place of
 * the one that is opened again last (Belady's MIN). Time is saved if the same fetches are made earlier: each
 * as soon as the object that has to go was opened for the last time before (the rule "conservative" of Cao et
 * al., "A Study of Integrated Prefetching and Caching Strategies", SIGMETRICS 1995). With shuffled epochs the
 * object that is opened again last was often opened just before, so that there would be no time. So only
 * objects go that were opened a while before: a part of the tiers is there for what comes next, and the
 * source is read nearly as little as with MIN.
 *
 * The moving parts: the plan, which says how far programs are; a cursor, which goes through the plan ahead of
 * them and knows what is on the tiers at that time; a queue of objects by when they are opened next after the
 * cursor.
 *
 * A program that reads as fast as it can comes to an object while that is on its way, and reads it from the
 * source too: twice for nothing. So the cursor keeps a distance that grows with each such open, and leaves
 * what is nearer to the program.
 *
 * Invariants: what is opened between programs and the cursor is never evicted. An object is fetched at most
 * once before it is opened. Programs that do something else than the plan says read the source, and are never
 * held up.
 */
import { isTieredError, type Clock, type Hierarchy } from '@tiered/core';
import TinyQueue from 'tinyqueue';
import { NEVER, type Plan } from './plan.js';

/** Fetched at the same time: the placement limits what the source is asked. */
const AT_A_TIME = 16;
/** Positions that the cursor passes between two turns of the event loop. */
const AT_ONCE = 10_000;
/** Opens from which the size of objects is estimated. */
const SOME = 10_000;
/** Opens that the fetch of an object begins before its own at most: some seconds of a fast training. */
const MOST_AHEAD = 1024;
/** What the distance grows to at first, in opens, and how much of it each open takes that is in time. */
const FIRST_DISTANCE = 16;
const SHRINK = 1 / 256;
/** Entries of the queue that are not worth removing. */
const FEW = 1024;
/** Bytes by which file systems count. */
const BLOCK = 4096;
/** Attempts to place an object for which there turned out to be less room than was thought. */
const ATTEMPTS = 3;

/** What evicts: `PlacementHandler`. */
export interface Evicting {
  evict(key: string): Promise<boolean>;
  freeBytes(): readonly number[];
}

/** What was done ahead of programs. */
export interface AheadCounts {
  readonly placed: number;
  readonly evicted: number;
  /** Planned opens that came before their object was there. */
  readonly late: number;
  /** Opens that were not planned. */
  readonly unplanned: number;
}

/** What placing ahead works with. */
export interface AheadParts {
  readonly hierarchy: Hierarchy;
  readonly placement: Evicting;
  readonly plan: Plan;
  readonly clock: Clock;
}

/** When the object of an entry is opened again, and after which open that was known. */
interface Use {
  readonly id: number;
  readonly next: number;
  readonly since: number;
}

/** The object that is opened last comes first. */
const queueOf = (uses: Use[]) => new TinyQueue(uses, (a, b) => b.next - a.next);

/** Places what programs open next, and evicts what they open last. */
export class Ahead {
  readonly #parts: AheadParts;
  readonly #sourceLevel: number;
  /** Those that are opened last come first. Entries that are not the latest of their object mean nothing. */
  #uses = queueOf([]);
  /** By object on a tier, or on its way there. */
  readonly #latest = new Map<number, Use>();
  readonly #loading = new Set<Promise<void>>();
  readonly #counts = { placed: 0, evicted: 0, late: 0, unplanned: 0 };
  readonly #largest: number;
  /** Opens by which the fetch of an object may begin before its own. */
  readonly #lead: number;
  /** Opens that the cursor leaves to the program, because their objects would come too late. */
  #distance = 0;
  /** Bytes of tiers that nothing is in, or on its way to. */
  #room: number;
  /** Those who wait until programs go on. */
  #waiting: (() => void)[] = [];
  /** Whether the cursor has come to the end. */
  #isDone = false;
  #isClosed = false;
  #working: Promise<void> = Promise.resolve();

  constructor(parts: AheadParts) {
    this.#parts = parts;
    const { tiers } = parts.hierarchy.stats();
    this.#sourceLevel = tiers.length;
    this.#largest = Math.max(0, ...tiers.map(({ quotaBytes }) => quotaBytes));
    this.#room = this.#realRoom();
    this.#lead = this.#leadOf(tiers.reduce((sum, { quotaBytes }) => sum + quotaBytes, 0));
  }

  get counts(): AheadCounts {
    return { ...this.#counts };
  }

  /** Begins to place. What is on the tiers stays as long as there is room. */
  begin(): void {
    const { namespace } = this.#parts.hierarchy;
    for (let id = 0; id < namespace.count; id++)
      if (namespace.levelOf(id) < this.#sourceLevel)
        this.#note({ id, next: this.#parts.plan.dueOf(id), since: -1 });
    this.#working = this.#work();
  }

  /** A program opened a file. */
  opened(kind: 'copy' | 'source', id: number): void {
    const isPlanned = this.#parts.plan.opened(id);
    if (!isPlanned) this.#counts.unplanned += 1;
    else if (kind === 'source') {
      this.#counts.late += 1;
      const isOnItsWay = this.#latest.has(id);
      if (isOnItsWay) this.#distance = Math.min(Math.max(FIRST_DISTANCE, 2 * this.#distance), this.#lead / 2);
    } else this.#distance *= 1 - SHRINK;
    this.#wake();
  }

  /** Resolves when all is placed that can be, until programs go on. */
  async idle(): Promise<void> {
    // The cursor may be done, or wait for objects that are all on their way, and wait for room.
    const cursors = () => (this.#isDone || this.#loading.size >= AT_A_TIME ? 0 : 1);
    while (this.#waiting.length < this.#loading.size + cursors()) await this.#parts.clock.sleep(1);
  }

  /** Ends when the objects that are on their way are there. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#wake();
    await this.#working;
    await Promise.all(this.#loading);
  }

  async #work(): Promise<void> {
    const { plan, clock } = this.#parts;
    const { sequence, next } = plan;
    for (let at = 0; at < sequence.length && !this.#isClosed; at++) {
      const id = sequence[at] ?? 0;
      const isThere = this.#latest.has(id);
      const isFar = at >= plan.position + Math.floor(this.#distance);
      if (!isThere && isFar && !(await this.#fetch(id, at))) continue;
      if (isThere || this.#latest.has(id)) this.#note({ id, next: next[at] ?? NEVER, since: at });
      // So that a long plan of objects that are all there does not hold up everything else.
      if (at % AT_ONCE === 0) await clock.turn();
    }
    this.#isDone = true;
  }

  /** Begins to fetch an object for an open. False if programs are past that, or nothing can go. */
  async #fetch(id: number, at: number): Promise<boolean> {
    const bytes = this.#bytesOf(id);
    if (bytes > this.#largest) return false;
    // What tiers take for each copy is known only when nothing is on its way.
    if (this.#loading.size === 0) this.#room = this.#realRoom();
    while (this.#room < bytes) {
      if (!(await this.#evictLast(at, (since) => this.#isOpened(since, at)))) return false;
    }
    this.#room -= bytes;
    this.#latest.set(id, { id, next: at, since: at });
    while (this.#loading.size >= AT_A_TIME) await Promise.race(this.#loading);
    const loading = this.#place(id).finally(() => this.#loading.delete(loading));
    this.#loading.add(loading);
    return true;
  }

  /** Waits until programs have made an open. False if they are past another one by then. */
  async #isOpened(since: number, at: number): Promise<boolean> {
    const { plan } = this.#parts;
    while (plan.position <= since && plan.position <= at && !this.#isClosed) await this.#progress();
    return plan.position <= at && !this.#isClosed;
  }

  /** Evicts the object that is opened last, if it may go once it was opened for the last time before. */
  async #evictLast(at: number, mayGo: (since: number) => Promise<boolean> | boolean): Promise<boolean> {
    const { placement, hierarchy } = this.#parts;
    const last = this.#lastUseBefore(at - this.#lead);
    if (last === undefined) return false;
    if (!(await mayGo(last.since))) {
      this.#uses.push(last);
      return false;
    }
    this.#latest.delete(last.id);
    const isEvicted = await placement.evict(hierarchy.namespace.keyOf(last.id)).catch(() => false);
    if (isEvicted) this.#counts.evicted += 1;
    this.#room += this.#bytesOf(last.id);
    return true;
  }

  /**
   * Takes the object that is opened last out of the queue, of those that were opened before a position; if
   * there is none, of all.
   */
  #lastUseBefore(position: number): Use | undefined {
    const later: Use[] = [];
    let last = this.#uses.pop();
    while (last !== undefined && (this.#latest.get(last.id) !== last || last.since >= position)) {
      if (this.#latest.get(last.id) === last) later.push(last);
      last = this.#uses.pop();
    }
    last ??= later.shift();
    for (const use of later) this.#uses.push(use);
    return last;
  }

  /** An eighth of what fits on the tiers. */
  #leadOf(quotaBytes: number): number {
    const { sequence } = this.#parts.plan;
    const some = sequence.subarray(0, SOME);
    const bytes = some.reduce((sum, id) => sum + this.#bytesOf(id), 0) / some.length;
    return Math.max(1, Math.min(MOST_AHEAD, Math.floor(quotaBytes / Math.max(1, bytes) / 8)));
  }

  async #place(id: number): Promise<void> {
    const { hierarchy, placement, plan } = this.#parts;
    const { namespace } = hierarchy;
    const key = namespace.keyOf(id);
    for (let attempt = 0; attempt < ATTEMPTS && !this.#isClosed; attempt++) {
      try {
        const level = await hierarchy.place(key);
        if (level < this.#sourceLevel && namespace.directLevelOf(id) === level) {
          this.#counts.placed += 1;
          return;
        }
        // Only its beginning fitted, which no program can use.
        if (level < this.#sourceLevel) await placement.evict(key);
      } catch (error) {
        // Events of the hierarchy say what went wrong with the source or the tier.
        if (!isTieredError(error)) throw error;
        break;
      }
      // There was less room than was thought.
      const due = plan.dueOf(id);
      if (!(await this.#evictLast(due, (since) => this.#isOpened(since, due)))) break;
    }
    this.#latest.delete(id);
  }

  /** What a copy takes of a tier, nearly. */
  #bytesOf(id: number): number {
    return Math.ceil(this.#parts.hierarchy.namespace.sizeOf(id) / BLOCK) * BLOCK;
  }

  #realRoom(): number {
    return this.#parts.placement.freeBytes().reduce((sum, bytes) => sum + bytes, 0);
  }

  #note(use: Use): void {
    this.#latest.set(use.id, use);
    this.#uses.push(use);
    // What is not the latest of its object sinks in the queue, and would never be taken out.
    if (this.#uses.length > 2 * this.#latest.size + FEW) this.#uses = queueOf([...this.#latest.values()]);
  }

  #progress(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
