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
 * them, chooses what has to go for an object that is not there, and waits until that was opened; lanes, each
 * of which evicts what was chosen for one object and then places it; the uses, which say what is on the tiers
 * when the cursor is where it is, and when that is opened next; the room, which keeps the books.
 *
 * A program that reads as fast as it can comes to an object while that is on its way, and reads it from the
 * source too: twice for nothing. So the cursor keeps a distance that grows with such opens, and leaves what
 * is nearer to the program. Programs that need an object sooner than it can come get little ahead then, and
 * little is fetched twice.
 *
 * A program may leave out an open. The object is not waited for then, as long as another one can go.
 *
 * Invariants: what is opened between programs and the cursor is not evicted. An object that was opened before
 * its fetch began is not fetched for that open. Where less of it fitted than was thought, more room is made
 * and it is fetched again, twice at most. The cursor is ahead of programs by so many opens at most as it
 * takes to open everything once. Programs that do something else than the plan says read the source, and are
 * never held up.
 */
import { isTieredError, type Clock, type Hierarchy } from '@tiered/core';
import { Distance } from './distance.js';
import { Leaving } from './leaving.js';
import { NEVER, type Plan } from './plan.js';
import { Progress } from './progress.js';
import { Room } from './room.js';
import { Uses, type Use } from './uses.js';

/**
 * Objects that are being evicted for or placed at the same time. The placement asks the source for 6 at a
 * time unless it is told otherwise (`concurrency`); others are written meanwhile, or wait for the index,
 * which takes all that wait for it at once.
 */
const LANES = 16;
/** Positions that the cursor passes between two turns of the event loop. */
const AT_ONCE = 10_000;
/** Opens from which the size of objects is estimated. */
const SOME = 10_000;
/** Opens that the fetch of an object begins before its own at most: some seconds of a fast training. */
const MOST_AHEAD = 1024;
/** Bytes by which file systems count. */
const BLOCK = 4096;
/** Attempts to place an object for which there turned out to be less room than was thought. */
const ATTEMPTS = 3;

/** A placement that can evict: `PlacementHandler`. */
export interface Evicting {
  evict(key: string): Promise<boolean>;
  freeBytes(): readonly number[];
}

/** Counts of the work ahead of programs. */
export interface AheadCounts {
  readonly placed: number;
  readonly evicted: number;
  /** Planned opens that came before their object was there. */
  readonly late: number;
  /** Opens that were not planned, or not there. */
  readonly unplanned: number;
}

/** The parts that placing ahead needs. */
export interface AheadParts {
  readonly hierarchy: Hierarchy;
  readonly placement: Evicting;
  readonly plan: Plan;
  readonly clock: Clock;
}

/** Places what programs open next, and evicts what they open last. */
export class Ahead {
  readonly #parts: AheadParts;
  readonly #sourceLevel: number;
  readonly #uses = new Uses();
  readonly #room: Room;
  /** By object that is on its way. */
  readonly #lanes = new Map<number, Promise<void>>();
  /** Objects on their way of which only the beginning fitted. */
  readonly #inPart = new Set<number>();
  readonly #counts = { placed: 0, evicted: 0, late: 0, unplanned: 0 };
  readonly #largest: number;
  readonly #distance: Distance;
  readonly #leaving: Leaving;
  readonly #progress = new Progress();
  /** The position of the cursor. */
  #at = 0;
  /** Whether the cursor has come to the end. */
  #isDone = false;
  #isClosed = false;
  #working: Promise<void> = Promise.resolve();

  constructor(parts: AheadParts) {
    this.#parts = parts;
    const { plan, placement } = parts;
    const { tiers } = parts.hierarchy.stats();
    this.#sourceLevel = tiers.length;
    this.#largest = Math.max(0, ...tiers.map(({ quotaBytes }) => quotaBytes));
    this.#room = new Room(() => placement.freeBytes().reduce((sum, bytes) => sum + bytes, 0));
    const lead = this.#leadOf(tiers.reduce((sum, { quotaBytes }) => sum + quotaBytes, 0));
    this.#distance = new Distance(2 * lead);
    this.#leaving = new Leaving({
      ...{ plan, uses: this.#uses, progress: this.#progress, lead },
      isComing: (id) => this.#lanes.has(id),
      isDue: (id, at) => (this.#lanes.has(id) ? this.#isDue(id, at) : this.#comesInTime(id, at)),
    });
  }

  get counts(): AheadCounts {
    return { ...this.#counts };
  }

  /** Begins to place. Copies on the tiers stay as long as there is room. */
  begin(): void {
    const { namespace } = this.#parts.hierarchy;
    this.#parts.hierarchy.on('placed', this.#placed);
    for (let id = 0; id < namespace.count; id++)
      if (namespace.levelOf(id) < this.#sourceLevel) this.#came(id);
    this.#working = this.#work();
  }

  /** A program opened a file. */
  opened(kind: 'copy' | 'source', id: number): void {
    if (this.#parts.plan.opened(id)) {
      if (kind === 'source') this.#counts.late += 1;
      this.#distance.opened(id, kind === 'copy');
    } else this.#counts.unplanned += 1;
    this.#progress.made();
  }

  /** An object has another copy, or none. */
  moved(id: number, hasCopy: boolean): void {
    // What is on its way says itself what has become of it.
    if (this.#lanes.has(id)) return;
    if (hasCopy) this.#came(id);
    else if (this.#uses.delete(id)) {
      this.#distance.gone(id);
      this.#room.add(this.#bytesOf(id));
      this.#progress.made();
    }
  }

  /** Resolves when all is placed that can be, until programs go on. */
  async idle(): Promise<void> {
    // The cursor may be done, or wait for lanes that all wait for programs.
    const cursors = () => (this.#isDone || this.#lanes.size >= LANES ? 0 : 1);
    while (this.#progress.waiting < this.#lanes.size + cursors()) await this.#parts.clock.sleep(1);
  }

  /** Ends when the objects that are on their way are there. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#progress.made();
    await this.#working;
    await Promise.all(this.#lanes.values());
    this.#parts.hierarchy.off('placed', this.#placed);
  }

  async #work(): Promise<void> {
    const { plan, clock } = this.#parts;
    const { sequence } = plan;
    for (; this.#at < sequence.length && !this.#isClosed; this.#at++) {
      const at = this.#at;
      while (at >= plan.reached + plan.span && !this.#isClosed) await this.#progress.wait();
      const id = sequence[at] ?? 0;
      if (this.#uses.has(id)) this.#pass(id, at);
      else if (this.#comesInTime(id, at)) await this.#fetch(id, at);
      // So that a long plan of objects that are all there does not hold up everything else.
      if (at % AT_ONCE === 0) await clock.turn();
    }
    this.#isDone = true;
  }

  /** Begins to fetch an object for an open, once what has to go for it was opened. */
  async #fetch(id: number, at: number): Promise<void> {
    const bytes = this.#bytesOf(id);
    if (bytes > this.#largest) return;
    const leaving = await this.#leaving.makeRoom(id, at, (going) => {
      return going.reduce((sum, use) => sum + this.#bytesOf(use.id), this.#room.bytes) >= bytes;
    });
    while (leaving !== undefined && this.#lanes.size >= LANES) await Promise.race(this.#lanes.values());
    // It may have been adopted meanwhile.
    const isThere = this.#uses.has(id);
    if (isThere) this.#pass(id, at);
    if (leaving === undefined || isThere || !this.#comesInTime(id, at)) {
      for (const use of leaving ?? []) this.#uses.keep(use);
      return;
    }
    this.#distance.begun(id);
    this.#pass(id, at);
    this.#room.take(bytes);
    this.#lanes.set(id, this.#lane(id, at, leaving));
  }

  /** The cursor passes an open of an object that is there, or on its way. */
  #pass(id: number, at: number): void {
    this.#uses.note({ id, next: this.#parts.plan.next[at] ?? NEVER, since: at });
  }

  /** Whether the fetch of an object for an open is of use still. */
  #isDue(id: number, at: number): boolean {
    return this.#parts.plan.dueOf(id) <= at && !this.#isClosed;
  }

  /** Whether a fetch that begins now is of use, with programs as near to the open as they are. */
  #comesInTime(id: number, at: number): boolean {
    return at >= this.#parts.plan.reached + this.#distance.opens && this.#isDue(id, at);
  }

  async #lane(id: number, at: number, leaving: readonly Use[]): Promise<void> {
    const bytes = this.#bytesOf(id);
    let hasCome = false;
    try {
      hasCome = await this.#bring(id, at, leaving);
    } finally {
      this.#room.taken(bytes, hasCome);
      this.#inPart.delete(id);
      this.#lanes.delete(id);
      if (!hasCome) {
        this.#uses.delete(id);
        this.#distance.gone(id);
      }
      this.#progress.made();
    }
  }

  /** Evicts what was chosen to go for an object, and then places that. True if it is on a tier then. */
  async #bring(id: number, at: number, leaving: readonly Use[]): Promise<boolean> {
    await Promise.all(leaving.map((use) => this.#evict(use)));
    for (let attempt = 1; this.#isDue(id, at); attempt++) {
      const outcome = await this.#place(id);
      if (outcome !== 'full') return outcome === 'placed';
      const use = attempt < ATTEMPTS ? await this.#leaving.choose(id, at) : undefined;
      if (use === undefined) break;
      await this.#evict(use);
    }
    return false;
  }

  async #evict(use: Use): Promise<void> {
    if (!this.#uses.release(use)) return;
    this.#distance.gone(use.id);
    const bytes = this.#bytesOf(use.id);
    this.#room.give(bytes);
    const hasGone = await this.#parts.placement.evict(this.#keyOf(use.id)).catch(() => false);
    if (hasGone) this.#counts.evicted += 1;
    this.#room.given(bytes, hasGone);
  }

  /** Full means that there was less room than was thought. */
  async #place(id: number): Promise<'placed' | 'full' | 'failed'> {
    const { hierarchy, placement } = this.#parts;
    const key = this.#keyOf(id);
    try {
      const level = await hierarchy.place(key);
      const isFull = () => placement.freeBytes().every((bytes) => bytes < this.#bytesOf(id));
      if (level === this.#sourceLevel) return isFull() ? 'full' : 'failed';
      if (this.#inPart.delete(id)) {
        // No program can use the beginning of a file.
        await placement.evict(key);
        return 'full';
      }
      // A copy of an earlier daemon that is not checked yet is not one that was placed.
      if (hierarchy.namespace.directLevelOf(id) === level) this.#counts.placed += 1;
      return 'placed';
    } catch (error) {
      // Events of the hierarchy say what went wrong with the source or the tier.
      if (!isTieredError(error)) throw error;
      return 'failed';
    }
  }

  /** A copy was made: of those that are being placed it is to be known whether it is all of the object. */
  readonly #placed = ({ key, bytes }: { readonly key: string; readonly bytes: number }): void => {
    const { namespace } = this.#parts.hierarchy;
    const id = namespace.find(key);
    if (this.#lanes.has(id) && bytes < namespace.sizeOf(id)) this.#inPart.add(id);
  };

  /** There is a copy that was not placed from here. */
  #came(id: number): void {
    if (this.#uses.has(id)) return;
    const { plan } = this.#parts;
    let [since, next] = [-1, plan.dueOf(id)];
    while (next < this.#at) [since, next] = [next, plan.next[next] ?? NEVER];
    this.#uses.note({ id, next, since });
  }

  /** An eighth of what fits on the tiers. */
  #leadOf(quotaBytes: number): number {
    const { sequence } = this.#parts.plan;
    const some = sequence.subarray(0, SOME);
    const bytes = some.reduce((sum, id) => sum + this.#bytesOf(id), 0) / some.length;
    return Math.max(1, Math.min(MOST_AHEAD, Math.floor(quotaBytes / Math.max(1, bytes) / 8)));
  }

  /** The bytes of a copy on a tier, nearly. */
  #bytesOf(id: number): number {
    return Math.ceil(this.#parts.hierarchy.namespace.sizeOf(id) / BLOCK) * BLOCK;
  }

  #keyOf(id: number): string {
    return this.#parts.hierarchy.namespace.keyOf(id);
  }
}
