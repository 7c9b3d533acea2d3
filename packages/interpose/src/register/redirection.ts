import fs from 'node:fs';
import type { Bucket } from './bucket.js';
import type { Found, Imagined, SessionView } from './session-view.js';
import { isPath, type Opening, type Wanted } from './wanted.js';
import type { Teller } from './teller.js';

/** With these a file is read as ever. Any other flag means something that a copy may not do. */
const HARMLESS =
  // Node does not name O_CLOEXEC, which it sets by itself, and O_LARGEFILE.
  (fs.constants.O_NONBLOCK ?? 0) | (fs.constants.O_NOCTTY ?? 0) | (fs.constants.O_NOFOLLOW ?? 0);

/** Flags as words. Others Node refuses. */
const FLAGS = /^(?:r|rs|sr|w|wx|xw|a|ax|xa|as|sa)\+?$/;

/** Decides which files are opened as copies, and says what became of it. */
export class Redirection {
  readonly #session: SessionView;
  readonly #teller: Teller;
  readonly #bucket: Bucket;

  constructor(session: SessionView, teller: Teller, bucket: Bucket) {
    this.#session = session;
    this.#teller = teller;
    this.#bucket = bucket;
  }

  /** What is wanted, if it may be opened elsewhere than where the program says. */
  find({ name, flags }: Wanted): Found | Imagined | undefined {
    if (!isPath(name) || (typeof flags === 'string' && !FLAGS.test(flags))) return undefined;
    const imagined = this.#session.imagine(name);
    if (imagined !== undefined || !isForReading(flags)) return imagined;
    const found = this.#session.find(name);
    const refusesLinks = typeof flags === 'number' && (flags & (fs.constants.O_NOFOLLOW ?? 0)) !== 0;
    // It may be a link as long as the source was not asked.
    if (found === undefined || !refusesLinks || found.entry.file !== undefined) return found;
    return { ...found, copy: undefined };
  }

  /** Has what is wanted opened where it is best read. */
  async open<T>(wanted: Wanted, opening: Opening<Promise<T>>, found = this.find(wanted)): Promise<T> {
    const name = wanted.name as fs.PathLike;
    if (found === undefined) return opening(name, undefined);
    if ('tree' in found) return this.#bucket.open(found, wanted, opening);
    if (found.copy !== undefined) {
      try {
        const opened = await opening(found.copy, found);
        this.#teller.tell('copy', found.key);
        return opened;
      } catch (error) {
        // Else, whatever is wrong, the source has the file, or says what is.
        if ((error as Error).name === 'AbortError') throw error;
      }
    }
    const opened = await opening(name, undefined);
    this.#teller.tell('source', found.key);
    return opened;
  }

  /** The same, at once. */
  openSync<T>(wanted: Wanted, opening: Opening<T>): T {
    const found = this.find(wanted);
    const name = wanted.name as fs.PathLike;
    if (found === undefined) return opening(name, undefined);
    if ('tree' in found) return this.#bucket.openSync(found, wanted, opening);
    if (found.copy !== undefined) {
      try {
        const opened = opening(found.copy, found);
        this.#teller.tell('copy', found.key);
        return opened;
      } catch {
        // Whatever is wrong, the source has the file, or says what is.
      }
    }
    const opened = opening(name, undefined);
    this.#teller.tell('source', found.key);
    return opened;
  }
}

function isForReading(flags: unknown): boolean {
  if (flags === undefined || flags === null || flags === 'r') return true;
  return typeof flags === 'number' && (flags & ~HARMLESS) === fs.constants.O_RDONLY;
}
