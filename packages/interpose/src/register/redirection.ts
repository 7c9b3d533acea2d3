import fs from 'node:fs';
import type { SessionView, Found } from './session-view.js';
import type { Teller } from './teller.js';

/** With these a file is read as ever. Any other flag means something that a copy may not do. */
const HARMLESS =
  // Node does not name O_CLOEXEC, which it sets by itself, and O_LARGEFILE.
  (fs.constants.O_NONBLOCK ?? 0) | (fs.constants.O_NOCTTY ?? 0) | (fs.constants.O_NOFOLLOW ?? 0);

/** A file of the source that has a copy. */
export interface Redirected extends Found {
  readonly copy: string;
}

/** Decides which files are read as copies, and says what became of it. */
export class Redirection {
  readonly #session: SessionView;
  readonly #teller: Teller;

  constructor(session: SessionView, teller: Teller) {
    this.#session = session;
    this.#teller = teller;
  }

  /** What a path names, if it is opened for reading and an object; undefined for all else. */
  find(name: unknown, flags: unknown): Found | undefined {
    if (!isForReading(flags) || !isPath(name)) return undefined;
    const found = this.#session.find(name);
    const refusesLinks = typeof flags === 'number' && (flags & (fs.constants.O_NOFOLLOW ?? 0)) !== 0;
    // It may be a link as long as the source was not asked.
    if (found === undefined || !refusesLinks || found.entry.file !== undefined) return found;
    return { ...found, copy: undefined };
  }

  /** The file was opened as its copy, or in the source. */
  opened(kind: 'copy' | 'source', { key }: Found): void {
    this.#teller.tell(kind, key);
  }
}

/** Whether a file has a copy. */
export const hasCopy = (found: Found | undefined): found is Redirected => found?.copy !== undefined;

const isPath = (name: unknown): name is fs.PathLike =>
  typeof name === 'string' || name instanceof URL || Buffer.isBuffer(name);

function isForReading(flags: unknown): boolean {
  if (flags === undefined || flags === null || flags === 'r') return true;
  return typeof flags === 'number' && (flags & ~HARMLESS) === fs.constants.O_RDONLY;
}
