import type { Clock, Namespace } from '@tiered/core';
import fs from 'node:fs';
import path from 'node:path';

/** Names between two turns of the event loop. */
const AT_A_TIME = 1000;
/** The target of the names of files: nothing, so that a program without the shim finds no file. */
const NOWHERE = '/only/programs/under/tiered/run/can/open/this';

/** The longest name that file systems take, in bytes. */
const LONGEST_NAME = 255;
/** The most bytes of a character. */
const MOST_BYTES = 3;

interface Directory {
  /** Ids of the files in it that have no name there yet. */
  missing: number[];
  /** Being completed, one after the other. */
  completing: Promise<void>;
}

/**
 * The directories below a root that need not be there: real ones, in which programs under the shim list what
 * a source holds that is no file system. A directory gets the names of its files when somebody asks for them.
 *
 * Costs 4 bytes of memory for each object, and a directory each; in a listed directory, a link for each
 * object: about a kilobyte of shared memory.
 */
export class Tree {
  readonly #root: string;
  readonly #namespace: Namespace;
  readonly #clock: Clock;
  /** By key; the root has an empty one. */
  readonly #directories = new Map<string, Directory>();
  #known = 0;

  /** @param root A directory that is there, and empty. */
  constructor(root: string, namespace: Namespace, clock: Clock) {
    this.#root = root;
    this.#namespace = namespace;
    this.#clock = clock;
    this.#directories.set('', { missing: [], completing: Promise.resolve() });
  }

  /** Takes in objects that came since the last time. */
  async grow(signal: AbortSignal): Promise<void> {
    while (this.#known < this.#namespace.count) {
      const until = Math.min(this.#namespace.count, this.#known + AT_A_TIME);
      for (; this.#known < until; this.#known++) this.#takeIn(this.#known);
      await this.#clock.turn();
      signal.throwIfAborted();
    }
  }

  /**
   * Gives a directory the names of all its files.
   * @param key Of a directory; of what is none, nothing is done.
   */
  async complete(key: string, signal: AbortSignal): Promise<void> {
    const directory = this.#directories.get(key);
    if (directory === undefined) return;
    const completed = directory.completing.then(() => this.#link(key, directory, signal));
    directory.completing = completed.catch(() => undefined);
    await completed;
  }

  #takeIn(id: number): void {
    const key = this.#namespace.keyOf(id);
    // No path leads to other keys.
    if (!isPathKey(key)) return;
    this.#directoryOf(key.slice(0, Math.max(0, key.lastIndexOf('/')))).missing.push(id);
  }

  #directoryOf(key: string): Directory {
    const known = this.#directories.get(key);
    if (known !== undefined) return known;
    // Those above it first.
    this.#directoryOf(key.slice(0, Math.max(0, key.lastIndexOf('/'))));
    makeDirectory(path.join(this.#root, key));
    const directory = { missing: [], completing: Promise.resolve() };
    this.#directories.set(key, directory);
    return directory;
  }

  async #link(key: string, directory: Directory, signal: AbortSignal): Promise<void> {
    const { missing } = directory;
    directory.missing = [];
    try {
      for (let done = 1; missing.length > 0; done++) {
        const id = missing.at(-1) ?? 0;
        const name = path.posix.basename(this.#namespace.keyOf(id));
        if (this.#namespace.isKnown(id)) makeLink(path.join(this.#root, key, name));
        missing.pop();
        if (done % AT_A_TIME === 0) await this.#clock.turn();
        signal.throwIfAborted();
      }
    } finally {
      directory.missing.push(...missing);
    }
  }
}

/** A file may be a directory too by now: a bucket has objects `a` and `a/b`. */
function makeDirectory(directory: string): void {
  const there = fs.lstatSync(directory, { throwIfNoEntry: false });
  if (there?.isSymbolicLink() === true) fs.unlinkSync(directory);
  if (there?.isDirectory() !== true) fs.mkdirSync(directory, { mode: 0o700 });
}

function makeLink(file: string): void {
  try {
    fs.symlinkSync(NOWHERE, file);
  } catch (error) {
    // A bucket may have an object at the name of a directory.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

const isName = (segment: string) =>
  segment !== '' &&
  segment !== '.' &&
  segment !== '..' &&
  !segment.includes('\0') &&
  (MOST_BYTES * segment.length <= LONGEST_NAME || Buffer.byteLength(segment) <= LONGEST_NAME);

/** Whether a key is a path below a directory as it is written, which leads to no other place. */
export const isPathKey = (key: string): boolean => key.split('/').every(isName);
