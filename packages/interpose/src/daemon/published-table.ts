import type { Namespace } from '@tiered/core';
import type { CopyPlace } from '@tiered/core/placement';
import { invariant, isPacked } from '@tiered/core/internal';
import { systemClock, type Clock } from '@tiered/core';
import { TableWriter, type SourceFile, type TableOptions } from '../table/writer.js';
import type { Place } from '../table/layout.js';
import { mountsBelow } from './root-watch.js';
import type { FileOf } from './source-files.js';

/** Entries between two turns of the event loop. */
const AT_A_TIME = 2000;
/** Room for objects that come later, as a part of those there are. */
const SPARE = 0.25;
const LEAST_SPARE = 1000;

/** The content of a table: the knowledge of the hierarchy. */
export interface TableContent {
  readonly namespace: Namespace;
  /** The place at which programs read an object; undefined for the source. */
  readonly placeOf: (id: number) => Place | undefined;
}

/**
 * Keeps the table of a hierarchy: entry i is the object with id i. A table that is full is replaced by a
 * larger one while it goes on being served.
 */
export class PublishedTable {
  #options: Omit<TableOptions, 'entries'>;
  readonly #content: TableContent;
  readonly #clock: Clock;
  /** The table that programs look into. */
  #table: TableWriter | undefined;
  /** The one that is being made. */
  #next: TableWriter | undefined;
  #rootsAway = 0;

  constructor(options: Omit<TableOptions, 'entries'>, content: TableContent, clock: Clock = systemClock) {
    this.#options = options;
    this.#content = content;
    this.#clock = clock;
  }

  /** The number of the table that programs look into. */
  get generation(): number {
    return this.#table?.generation ?? 0;
  }

  /**
   * Takes in objects that came since the last time. At first, those are all. True if that took another table,
   * which knows nothing of their files.
   * @param fileOf Says of their files what programs are told. Default: they ask the source until it is said.
   * @param onProgress Told how many are there.
   */
  async grow(signal: AbortSignal, fileOf?: FileOf, onProgress?: (entries: number) => void): Promise<boolean> {
    invariant(this.#next === undefined, 'a table is being made already');
    const { count } = this.#content.namespace;
    const table = this.#table;
    if (table !== undefined && count <= table.capacity) {
      await this.#fill(table, count, signal, fileOf, onProgress);
      return false;
    }
    const entries = Math.ceil(count * (1 + SPARE)) + LEAST_SPARE;
    const next = await TableWriter.create({ ...this.#options, entries });
    this.#next = next;
    next.setRootsAway(this.#rootsAway);
    try {
      await this.#fill(next, count, signal, fileOf, onProgress);
      next.publish(table);
      this.#table = next;
    } catch (error) {
      next.close();
      throw error;
    } finally {
      this.#next = undefined;
    }
    table?.close();
    return true;
  }

  /** Says where programs read an object from now on. */
  moved(id: number, place: Place | undefined): void {
    for (const table of [this.#table, this.#next]) {
      if (table === undefined || id >= table.entries) continue;
      if (place === undefined) table.withdraw(id);
      else table.setPlace(id, place);
    }
  }

  /** Says what programs are told of an object's file; just its size where they have to ask the source. */
  describe(id: number, file: SourceFile | number): void {
    for (const table of [this.#table, this.#next]) {
      if (table === undefined || id >= table.entries) continue;
      if (typeof file === 'number') table.forgetFile(id, file);
      else table.setFile(id, file);
    }
  }

  /** Says which roots lead elsewhere for now, by a bit for each. */
  setRootsAway(away: number): void {
    this.#rootsAway = away;
    for (const table of [this.#table, this.#next]) table?.setRootsAway(away);
  }

  /**
   * To be called before the source is listed again, and its result afterwards: programs have to see from then
   * on what was mounted below the root before.
   */
  beginListing(): () => void {
    const { rootFile, roots } = this.#options;
    if (rootFile === undefined) return () => undefined;
    const mounts = mountsBelow(roots[0] ?? '');
    return () => {
      this.#options = { ...this.#options, rootFile: { ...rootFile, mounts } };
      for (const table of [this.#table, this.#next]) table?.setMounts(mounts);
    };
  }

  /** The object at a slot that a program named; undefined if there is none, or it is one of another table. */
  objectAt(generation: number, slot: number): number | undefined {
    return (this.generation & 255) === generation ? this.#table?.entryAt(slot) : undefined;
  }

  beat(): void {
    this.#table?.beat();
  }

  /** Programs read the source from now on, whatever is said of objects afterwards. */
  close(): void {
    this.#next?.close();
    this.#table?.close();
    this.#table = undefined;
  }

  async #fill(
    table: TableWriter,
    count: number,
    signal: AbortSignal,
    fileOf: FileOf | undefined,
    onProgress: ((entries: number) => void) | undefined,
  ): Promise<void> {
    const { namespace, placeOf } = this.#content;
    while (table.entries < count) {
      const until = Math.min(count, table.entries + AT_A_TIME);
      while (table.entries < until) {
        const next = table.entries;
        const id = table.add(namespace.keyOf(next), namespace.sizeOf(next), fileOf?.(next));
        const place = placeOf(id);
        if (place !== undefined) table.setPlace(id, place);
      }
      onProgress?.(until);
      this.beat();
      await this.#clock.turn();
      signal.throwIfAborted();
    }
  }
}

/**
 * The place at which programs read a copy; undefined for copies that are not whole, not checked, or not a
 * file of their own.
 */
export function placeForPrograms(place: CopyPlace | undefined): Place | undefined {
  if (place?.direct !== true || place.tag === undefined || isPacked(place.tag)) return undefined;
  return { level: place.level, tag: place.tag };
}
