import Database from 'libsql';
import fs from 'node:fs';

/**
 * What says that this process is there to programs that begin: a lock, which the kernel lets go when the
 * process ends, in whatever way. Programs look for it (src-c/lifeline.c) instead of a time, because clocks
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
