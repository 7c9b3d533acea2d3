import { Chain, type Link } from '@tiered/core/internal';
import { LRUCache } from 'lru-cache';
import type { FileLook } from '../file-version.js';

/**
 * A file that is open for reading. It has not been described yet, because that would cost a request on remote
 * storage.
 */
export interface OpenFile {
  readonly fd: number;
  /** The version that it was opened for. Undefined for any. */
  readonly version: string | undefined;
  /** Whether a read has found that it has that version. */
  isVerified: boolean;
  /** The file's properties when it was verified, if that was checked here. */
  verified?: FileLook;
}

/** Descriptors that may wait to be closed before files are opened at once: a few turns of the event loop. */
const MOST_CLOSING = 128;

/** A file of a key that is open or about to be. */
interface Holding {
  readonly key: string;
  /** Called when it is released. */
  readonly waiting: (() => void)[];
}

/** A file that is about to be open. */
export interface Opening extends Holding {
  /** Whether the file that is being opened may be the previous one. */
  forgotten: boolean;
}

interface Entry extends OpenFile, Holding {
  /** Reads that use the descriptor now. */
  users: number;
  /** Not in the cache, or no longer. Its last user closes it. */
  retired: boolean;
}

/** Stands for a file that was requested lately and is not open. */
const NOT_OPEN = Symbol('not open');

/**
 * Descriptors kept open between reads. A file stays open until as many others as may be open were requested
 * since its last read, whether those stay open or not. So a file that was deleted frees its disk space in
 * time. A descriptor is closed only when no read uses it: otherwise the system could give its number to
 * another file in mid-read, and the read would serve that file's bytes.
 */
export class OpenFiles {
  /** The keys that were requested last. */
  readonly #asked: LRUCache<string, Entry | typeof NOT_OPEN>;
  readonly #opening = new Chain<Opening>();
  /** Files in use that are not in the cache. */
  readonly #leaving = new Set<Entry>();
  readonly #closeFile: (fd: number) => Promise<void>;
  readonly #closing = new Set<Promise<void>>();
  #open = 0;

  /**
   * @param max Descriptors kept open while unused; reads in flight may hold more.
   * @param closeFile Closes a descriptor. The event loop never does: a deleted file goes with its last
   * descriptor, and that is a write to the disk.
   */
  constructor(max: number, closeFile: (fd: number) => Promise<void>) {
    this.#closeFile = closeFile;
    const dispose = (entry: Entry | typeof NOT_OPEN): void => {
      if (entry !== NOT_OPEN) this.#retire(entry);
    };
    this.#asked = new LRUCache({ max, dispose });
  }

  /** Open descriptors. */
  get count(): number {
    return this.#open;
  }

  /**
   * Runs `work` with the file open. Opens it with `open` if necessary. A file is not kept if the work fails.
   */
  async use<T>(key: string, open: () => Promise<OpenFile>, work: (file: OpenFile) => Promise<T>): Promise<T> {
    let entry = this.#asked.get(key);
    if (entry === undefined || entry === NOT_OPEN) entry = await this.#openNew(key, open);
    else entry.users += 1;
    try {
      return await work(entry);
    } catch (error) {
      this.#drop(key, entry);
      throw error;
    } finally {
      this.#leave(entry);
    }
  }

  /** Like `use`, at once, without waiting for anything but the system calls. */
  useBlocking<T>(key: string, open: () => OpenFile, work: (file: OpenFile) => T): T {
    let entry = this.#asked.get(key);
    if (entry === undefined || entry === NOT_OPEN) {
      entry = this.#born(key, open());
      this.#asked.set(key, entry);
    } else entry.users += 1;
    try {
      return work(entry);
    } catch (error) {
      this.#drop(key, entry);
      throw error;
    } finally {
      this.#leave(entry);
    }
  }

  /** Whether many descriptors wait to be closed. */
  get isBehind(): boolean {
    return this.#closing.size >= MOST_CLOSING;
  }

  /**
   * Records a request for a key. Returns whether it was requested before, with so few others since that its
   * file would have stayed open.
   */
  isAskedAgain(key: string): boolean {
    if (this.#asked.get(key) !== undefined) return true;
    this.#asked.set(key, NOT_OPEN);
    return false;
  }

  /** Whether the file is open and kept. */
  has(key: string): boolean {
    return this.#kept(key) !== undefined;
  }

  /** Records that the caller opens the file, and closes it before it calls `closed` with the result. */
  opens(key: string): Link<Opening> {
    this.isAskedAgain(key);
    return this.#opening.add({ key, waiting: [], forgotten: false });
  }

  /** See `opens`. */
  closed(begun: Link<Opening>): void {
    this.#opening.remove(begun);
    letGo(begun.value);
  }

  /** Keeps the file under this key only if it is known to be this version of it. */
  keepOnly(key: string, version: string): void {
    const kept = this.#kept(key);
    if (kept?.isVerified !== true || kept.version !== version) this.forget(key);
  }

  /** Drops the file of this key if it was opened for another version, or for any. */
  dropOther(key: string, version: string): void {
    const kept = this.#kept(key);
    if (kept !== undefined && kept.version !== version) this.#asked.set(key, NOT_OPEN);
  }

  /** Records that another file has this key from now on. Reads in flight finish on the old one. */
  forget(key: string): void {
    this.#asked.delete(key);
    for (const opening of this.#opening) if (opening.key === key) opening.forgotten = true;
  }

  /** Like `forget`. Resolves when all its open files, and those about to be open, are closed. */
  async forgotten(key: string): Promise<void> {
    this.forget(key);
    const held = [...this.#opening, ...this.#leaving].filter((holding) => holding.key === key);
    await Promise.all(held.map(({ waiting }) => new Promise<void>((resolve) => waiting.push(resolve))));
    await Promise.all(this.#closing);
  }

  /** Closes everything, except files of a `use` that was left behind. That `use` closes them at its end. */
  async close(): Promise<void> {
    for (const opening of this.#opening) opening.forgotten = true;
    this.#asked.clear();
    while (this.#closing.size > 0) await Promise.all(this.#closing);
  }

  /**
   * Opens the file. Concurrent calls may do so for one key. The first file is kept; the others serve one
   * read.
   */
  async #openNew(key: string, open: () => Promise<OpenFile>): Promise<Entry> {
    const opening: Opening = { key, waiting: [], forgotten: false };
    const begun = this.#opening.add(opening);
    try {
      const entry = this.#born(key, await open(), opening.waiting);
      if (opening.forgotten || this.has(key)) this.#retire(entry);
      else this.#asked.set(key, entry);
      return entry;
    } catch (error) {
      letGo(opening);
      throw error;
    } finally {
      this.#opening.remove(begun);
    }
  }

  /**
   * Makes an entry with its opener as a user. Otherwise it could be evicted and closed before the opener's
   * turn comes.
   */
  #born(key: string, { fd, version }: OpenFile, waiting: (() => void)[] = []): Entry {
    this.#open += 1;
    return { key, fd, version, isVerified: false, users: 1, retired: false, waiting };
  }

  #kept(key: string): Entry | undefined {
    const entry = this.#asked.peek(key);
    return entry === NOT_OPEN ? undefined : entry;
  }

  #drop(key: string, entry: Entry): void {
    if (this.#asked.peek(key) === entry) this.#asked.delete(key);
  }

  #leave(entry: Entry): void {
    entry.users -= 1;
    if (entry.retired && entry.users === 0) this.#close(entry);
  }

  #retire(entry: Entry): void {
    entry.retired = true;
    if (entry.users === 0) this.#close(entry);
    else this.#leaving.add(entry);
  }

  /** An error of close() on a descriptor that was only read from loses nothing. */
  #close(entry: Entry): void {
    this.#leaving.delete(entry);
    letGo(entry);
    const closed = () => {
      this.#open -= 1;
      this.#closing.delete(closing);
    };
    const closing = this.#closeFile(entry.fd).then(closed, closed);
    this.#closing.add(closing);
  }
}

function letGo({ waiting }: Holding): void {
  for (const tell of waiting) tell();
}
