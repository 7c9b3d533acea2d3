/**
 * Files that no kernel knows: objects below a root that need not be there, as the shim has them
 * (src-c/imaginary.c). A file that has no copy waits until the daemon has one. Directories stand in the
 * directory of the session.
 * @module
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Answered, Questions } from './questions.js';
import { real } from './real-fs.js';
import type { Found, Imagined } from './session-view.js';
import { systemError } from './system-error.js';
import type { Teller } from './teller.js';
import type { Opening, Wanted } from './wanted.js';

const { EEXIST, EISDIR, ENOENT, ENOTDIR, EROFS } = os.constants.errno;
const { O_CREAT, O_EXCL, O_RDONLY, O_RDWR, O_TRUNC, O_WRONLY } = fs.constants;
const O_DIRECTORY = fs.constants.O_DIRECTORY ?? 0;
/** Attempts to open a copy which is evicted each time before it was opened. */
const MOST_ATTEMPTS = 20;

/** Opens files below a root that need not be there, and completes its directories. */
export class Bucket {
  readonly #questions: Questions;
  readonly #teller: Teller;

  constructor(questions: Questions, teller: Teller) {
    this.#questions = questions;
    this.#teller = teller;
  }

  async open<T>(imagined: Imagined, wanted: Wanted, opening: Opening<Promise<T>>): Promise<T> {
    const found = fileIn(imagined, wanted);
    if (found === undefined)
      return opening(imagined.tree, undefined).catch((error: unknown) => {
        throw named(error, imagined.tree, imagined.name);
      });
    if (found.copy !== undefined) {
      const opened = await opening(found.copy, found).catch(unlessGone(imagined, found.copy));
      if (opened !== GONE) return this.#fromCopy(found, opened);
    }
    this.#teller.tell('source', found.key);
    for (let attempt = 1; ; attempt++) {
      const { text, letGo } = held(await this.#questions.ask('readable', found.key), imagined, wanted);
      try {
        const opened = await opening(text, found).catch(unlessGone(imagined, text, attempt));
        if (opened !== GONE) return opened;
      } finally {
        letGo();
      }
    }
  }

  /** The same, at once. */
  openSync<T>(imagined: Imagined, wanted: Wanted, opening: Opening<T>): T {
    const found = fileIn(imagined, wanted);
    const attempted = (where: string, attempt?: number) => {
      try {
        return opening(where, found);
      } catch (error) {
        if (found === undefined) throw named(error, where, imagined.name);
        return unlessGone(imagined, where, attempt)(error);
      }
    };
    if (found === undefined) return attempted(imagined.tree) as T;
    if (found.copy !== undefined) {
      const opened = attempted(found.copy);
      if (opened !== GONE) return this.#fromCopy(found, opened);
    }
    this.#teller.tell('source', found.key);
    for (let attempt = 1; ; attempt++) {
      const { text, letGo } = held(this.#questions.askSync('readable', found.key), imagined, wanted);
      try {
        const opened = attempted(text, attempt);
        if (opened !== GONE) return opened;
      } finally {
        letGo();
      }
    }
  }

  /**
   * Gives a directory the names of all its files, and those below it too if it is walked.
   * @param syscall What an error calls that.
   */
  async complete(imagined: Imagined, isWalked: boolean, syscall: string): Promise<void> {
    for (const key of directoriesOf(imagined, isWalked))
      held(await this.#questions.ask('complete', key), imagined, { syscall }).letGo();
  }

  /** The same, at once. */
  completeSync(imagined: Imagined, isWalked: boolean, syscall: string): void {
    for (const key of directoriesOf(imagined, isWalked))
      held(this.#questions.askSync('complete', key), imagined, { syscall }).letGo();
  }

  #fromCopy<T>(found: Found, opened: T): T {
    this.#teller.tell('copy', found.key);
    return opened;
  }
}

/** Whether a directory stands for it. */
export const isDirectory = ({ found, tree }: Imagined): boolean =>
  found === undefined && real.statSync(tree, { throwIfNoEntry: false })?.isDirectory() === true;

/** The file that is to be opened; undefined if it is a directory. */
function fileIn(imagined: Imagined, { flags, syscall }: Wanted): Found | undefined {
  const { found, name } = imagined;
  const number = numberOf(flags);
  const refuse = (errno: number) => systemError(errno, syscall, name);
  const isChanged = (number & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) !== 0;
  if (found !== undefined) {
    if ((number & O_CREAT) !== 0 && (number & O_EXCL) !== 0) throw refuse(EEXIST);
    if (isChanged) throw refuse(EROFS);
    if ((number & O_DIRECTORY) !== 0) throw refuse(ENOTDIR);
  } else if (isDirectory(imagined)) {
    if (isChanged) throw refuse(EISDIR);
  } else throw refuse((number & O_CREAT) !== 0 ? EROFS : ENOENT);
  return found;
}

/** As far as it matters here. What Node refuses it refuses when it opens the file for reading. */
function numberOf(flags: unknown): number {
  if (typeof flags === 'number') return flags;
  if (typeof flags !== 'string') return O_RDONLY;
  const isCreated = /[wa]/.test(flags);
  const access = flags.includes('+') ? O_RDWR : isCreated ? O_WRONLY : O_RDONLY;
  return access | (isCreated ? O_CREAT : 0) | (flags.includes('x') ? O_EXCL : 0);
}

const GONE = Symbol('gone');

/** For an error: says that the copy was evicted just now, or throws what the program is to see. */
function unlessGone({ name }: Imagined, copy: string, attempt = 0): (error: unknown) => typeof GONE {
  return (error) => {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && attempt < MOST_ATTEMPTS && !real.existsSync(copy)) return GONE;
    throw named(error, copy, name);
  };
}

/** An error that names what the program named. */
function named(error: unknown, where: string, name: string): NodeJS.ErrnoException {
  const failed = error as NodeJS.ErrnoException;
  if (failed.path !== where) return failed;
  failed.path = name;
  failed.message = failed.message.replaceAll(where, name);
  if (failed.stack !== undefined) failed.stack = failed.stack.replaceAll(where, name);
  return failed;
}

function held(answered: Answered, { name }: Imagined, { syscall }: Pick<Wanted, 'syscall'>): Answered {
  if (answered.errno !== 0) throw systemError(answered.errno, syscall, name);
  return answered;
}

function* directoriesOf({ key, tree }: Imagined, isWalked: boolean): Generator<string> {
  yield key;
  if (!isWalked) return;
  // Directories are there from the start.
  for (const entry of real.readdirSync(tree, { recursive: true, withFileTypes: true }))
    if (entry.isDirectory()) yield path.join(key, path.relative(tree, entry.parentPath), entry.name);
}
