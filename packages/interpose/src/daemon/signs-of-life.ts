import type { Clock } from '@tiered/core';
import Database from 'libsql';
import fs from 'node:fs';

/** How often others are told that the daemon lives: programs believe it for 3 seconds. */
const BEAT_MS = 250;

/**
 * Shows programs that begin that this process lives: a lock, which the kernel lets go when the process ends,
 * in whatever way. Programs look for it (src-c/session.c) instead of a time, because clocks
 * are not the same in all of them.
 *
 * It is that of a transaction of SQLite, which locks 512 bytes of its file at 2 ** 30.
 */
export class Lifeline {
  readonly #database: Database.Database;

  /** @param file At which there is nothing. It stays empty. */
  constructor(file: string) {
    fs.writeFileSync(file, '', { flag: 'wx', mode: 0o600 });
    this.#database = new Database(file);
    // Without a file beside it.
    this.#database.exec('PRAGMA journal_mode = MEMORY');
    this.#database.exec('BEGIN EXCLUSIVE');
  }

  close(): void {
    this.#database.close();
  }
}

/** Whether a process that lives holds the lifeline in a file. Not to be asked of one's own. */
export function isHeld(file: string): boolean {
  if (!fs.existsSync(file)) return false;
  const database = new Database(file, { readonly: true });
  try {
    // Takes the lock for reading, which is refused where another process has it for writing.
    database.prepare('SELECT count(*) FROM sqlite_schema').get();
    return false;
  } catch (error) {
    return (error as { code?: string }).code === 'SQLITE_BUSY';
  } finally {
    database.close();
  }
}

/** Says that the daemon lives, as long as its event loop turns, and does what is due as often. */
export class Beats {
  readonly #works: (() => void)[];
  readonly #closing = new AbortController();
  readonly #beating: Promise<void>;

  constructor(first: () => void, clock: Clock) {
    this.#works = [first];
    this.#beating = this.#beat(clock);
  }

  /** Does something else as well from now on. */
  add(work: () => void): void {
    this.#works.push(work);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#beating;
  }

  async #beat(clock: Clock): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      for (const work of this.#works) work();
      await clock.sleep(BEAT_MS, signal, { background: true }).catch(() => undefined);
    }
  }
}
