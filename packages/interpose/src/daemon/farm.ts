import { systemClock, type Clock, type Namespace } from '@tiered/core';
import { configError, copyName, invariant } from '@tiered/core/internal';
import fs from 'node:fs';
import path from 'node:path';
import type { Place } from '../table/layout.js';
import { FARM_MARK, openFarmDirectory } from './farm-directory.js';
import { isPathKey } from './tree.js';

/** Links between two turns of the event loop: some tens of milliseconds. */
const AT_A_TIME = 1000;

/** The targets of the links of a farm. */
export interface FarmParts {
  /** The path of the farm: nothing yet, an empty directory, or a farm that a daemon left. */
  readonly directory: string;
  /** The directory of the session that changes its links. */
  readonly session: string;
  /** The real path of the source. */
  readonly root: string;
  /** The directories of the tiers. */
  readonly tiers: readonly string[];
  readonly namespace: Namespace;
  /** The place at which an object is read; undefined for the source. */
  readonly placeOf: (id: number) => Place | undefined;
}

/** The links of a farm. */
export interface FarmCounts {
  readonly links: number;
  /** Those of them that lead to copies. */
  readonly toCopies: number;
  /** Links that lead to another place than they should, because they could not be changed. */
  readonly wrong: number;
  /** Why the last of them could not. */
  readonly lastError: unknown;
}

/** The state at the key of an object: nothing of the farm's, or a link. */
const NOTHING = 0;
const TO_SOURCE = 1;
const TO_COPY = 2;

/**
 * A directory of symbolic links for programs that cannot be told of copies in another way: one for each
 * object, at its key, which leads to the copy while there is one, and else to the source.
 *
 * A link is changed by giving its place to another one, so there is one at all times. It leaves a copy before
 * the copy is deleted. A program that followed the link just before that, and has not opened the file yet,
 * finds nothing (`ENOENT`). That cannot happen with a policy that evicts nothing.
 *
 * Costs a byte of memory for each object, and what the file system takes for a link.
 */
export class Farm {
  readonly #parts: FarmParts;
  readonly #clock: Clock;
  /** Directories of which it is known that they are no links. */
  readonly #directories = new Set(['.']);
  /** By object. */
  #links = new Uint8Array(1024);
  /** Objects whose keys have been taken in. */
  #known = 0;
  readonly #counts = { links: 0, toCopies: 0 };
  /** Objects whose links have to be changed another time. */
  readonly #wrong = new Set<number>();
  #lastError: unknown;
  /** A farm of an earlier daemon, whose links may lead to copies that are gone. */
  readonly #isOld: boolean;
  #isClosed = false;

  /**
   * Makes the directory, or takes over one that a daemon left.
   * @throws TieredError `TIERED_CONFIG_INVALID` if something else is there, another daemon changes it, or it
   * is in a level of the hierarchy; errors of the system.
   */
  constructor(parts: FarmParts, clock: Clock = systemClock) {
    const { directory, isOld } = openFarmDirectory(parts);
    this.#parts = { ...parts, directory };
    this.#isOld = isOld;
    this.#clock = clock;
  }

  get counts(): FarmCounts {
    return { ...this.#counts, wrong: this.#wrong.size, lastError: this.#lastError };
  }

  /**
   * Makes the links of objects that came since the last time. At first, those are all, and links that an
   * earlier daemon left are corrected, or removed where there is no such object any more.
   * @param onProgress Told how many objects have their links.
   * @throws TieredError `TIERED_CONFIG_INVALID` if something is where a link has to be that is none; errors
   * of the system.
   */
  async grow(signal: AbortSignal, onProgress?: (objects: number) => void): Promise<void> {
    const { namespace } = this.#parts;
    const isFirst = this.#known === 0;
    this.repair();
    while (this.#known < namespace.count) {
      this.#makeRoom(namespace.count);
      const until = Math.min(namespace.count, this.#known + AT_A_TIME);
      for (; this.#known < until; this.#known++) this.#plant(this.#known);
      onProgress?.(until);
      await this.#turn(signal);
    }
    if (isFirst && this.#isOld) await this.#clear('.', signal);
  }

  /** Says where an object is read from now on. Does not throw: a link that cannot be changed is counted. */
  moved(id: number, place: Place | undefined): void {
    const to = place === undefined ? TO_SOURCE : TO_COPY;
    const from = id < this.#known ? this.#links[id] : NOTHING;
    // At the end they lead to the source, and to nothing else any more.
    if (from === NOTHING || (from === TO_SOURCE && to === TO_SOURCE && !this.#wrong.has(id))) return;
    if (this.#isClosed && to === TO_COPY) return;
    try {
      this.#replace(id, place);
      this.#wrong.delete(id);
    } catch (error) {
      this.#lastError = error;
      // Behind the others, so that they have their turn before it is tried again.
      this.#wrong.delete(id);
      this.#wrong.add(id);
    }
  }

  /** Changes links that could not be changed before: some of them, those first that waited for longest. */
  repair(): void {
    let left = Math.min(AT_A_TIME, this.#wrong.size);
    if (left === 0) return;
    for (const id of this.#wrong) {
      this.moved(id, this.#parts.placeOf(id));
      left -= 1;
      if (left === 0) return;
    }
  }

  /** Lets all links lead to the source, because nobody will say when a copy goes. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (let id = 0, changed = 0; id < this.#known; id++) {
      if (this.#links[id] !== TO_COPY && !this.#wrong.has(id)) continue;
      this.moved(id, undefined);
      changed += 1;
      if (changed % AT_A_TIME === 0) await this.#clock.turn();
    }
  }

  /** Makes the link of an object. Keys that are no paths have none. */
  #plant(id: number): void {
    const { namespace, placeOf } = this.#parts;
    if (!namespace.isKnown(id)) return;
    const key = namespace.keyOf(id);
    if (!isPathKey(key) || key === FARM_MARK || key.startsWith(`${FARM_MARK}/`)) return;
    this.#makeDirectory(path.posix.dirname(key));
    const place = placeOf(id);
    const target = this.#targetOf(key, place);
    const file = this.#fileOf(key);
    try {
      fs.symlinkSync(target, file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      this.#correct(file, target);
    }
    this.#counts.links += 1;
    this.#note(id, place);
  }

  /** A link is there already, of an earlier daemon. */
  #correct(file: string, target: string): void {
    assertLink(file);
    if (fs.readlinkSync(file) !== target) this.#rename(file, target);
  }

  #replace(id: number, place: Place | undefined): void {
    const key = this.#parts.namespace.keyOf(id);
    const file = this.#fileOf(key);
    assertLink(file);
    this.#rename(file, this.#targetOf(key, place));
    this.#note(id, place);
  }

  #rename(file: string, target: string): void {
    const next = path.join(this.#parts.directory, FARM_MARK, 'next');
    fs.rmSync(next, { force: true });
    fs.symlinkSync(target, next);
    fs.renameSync(next, file);
  }

  #note(id: number, place: Place | undefined): void {
    if (this.#links[id] === TO_COPY) this.#counts.toCopies -= 1;
    if (place !== undefined) this.#counts.toCopies += 1;
    this.#links[id] = place === undefined ? TO_SOURCE : TO_COPY;
  }

  /** Makes the directories of a key. A link there was an object, and would lead out of the farm. */
  #makeDirectory(key: string): void {
    if (this.#directories.has(key)) return;
    this.#makeDirectory(path.posix.dirname(key));
    const directory = this.#fileOf(key);
    const there = fs.lstatSync(directory, { throwIfNoEntry: false });
    if (there?.isDirectory() !== true) {
      if (there?.isSymbolicLink() === true) this.#uproot(key);
      fs.mkdirSync(directory);
    }
    this.#directories.add(key);
  }

  /** Removes a link. */
  #uproot(key: string): void {
    fs.unlinkSync(this.#fileOf(key));
    const id = this.#parts.namespace.find(key);
    if (id < 0 || id >= this.#known || this.#links[id] === NOTHING) return;
    if (this.#links[id] === TO_COPY) this.#counts.toCopies -= 1;
    this.#counts.links -= 1;
    this.#links[id] = NOTHING;
    this.#wrong.delete(id);
  }

  /** Removes links that are not of an object, and directories that are empty then. */
  async #clear(key: string, signal: AbortSignal): Promise<void> {
    const { namespace } = this.#parts;
    const entries = await fs.promises.readdir(this.#fileOf(key), { withFileTypes: true });
    for (const [i, entry] of entries.entries()) {
      if (key === '.' && entry.name === FARM_MARK) continue;
      const inside = path.posix.join(key, entry.name);
      const id = namespace.find(inside);
      const isObject = id >= 0 && this.#links[id] !== NOTHING;
      if (entry.isDirectory()) await this.#clear(inside, signal);
      else if (entry.isSymbolicLink() && !isObject) this.#uproot(inside);
      if (i % AT_A_TIME === 0) await this.#turn(signal);
    }
    if (key !== '.' && !this.#directories.has(key))
      await fs.promises.rmdir(this.#fileOf(key)).catch(() => undefined);
  }

  #targetOf(key: string, place: Place | undefined): string {
    if (place === undefined) return path.join(this.#parts.root, key);
    const tier = this.#parts.tiers[place.level];
    invariant(tier !== undefined, `there is no tier ${place.level}`);
    return path.join(tier, copyName(key, place.tag));
  }

  #fileOf(key: string): string {
    return path.join(this.#parts.directory, key);
  }

  async #turn(signal: AbortSignal): Promise<void> {
    await this.#clock.turn();
    signal.throwIfAborted();
  }

  #makeRoom(objects: number): void {
    if (objects <= this.#links.length) return;
    const larger = new Uint8Array(Math.max(2 * this.#links.length, objects));
    larger.set(this.#links);
    this.#links = larger;
  }
}

/** Somebody may have put something else where a link was, which is not ours to delete. */
function assertLink(file: string): void {
  const there = fs.lstatSync(file, { throwIfNoEntry: false });
  if (there?.isSymbolicLink() === false)
    throw configError('farm', 'a directory in which there are links of a farm, and nothing else', file);
}
