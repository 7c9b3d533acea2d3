import { isTieredError, type IndexHome } from '@tiered/core';
import type { IndexClient } from '../index-client.js';
import type { CopyRow } from './index-messages.js';

/** How often it is tried to say that this process leaves; if it cannot be said, others see it when they next look who runs. */
const TRIES_TO_LEAVE = 10;

/** What members that are not running any more have left on a tier, for this one to delete; and the leaving of this one. */
export class Leftovers {
  readonly #client: IndexClient;
  readonly #home: IndexHome;
  readonly #deleteFile: (row: CopyRow) => Promise<void>;
  /** What could not be deleted yet. */
  readonly #again = new Set<CopyRow>();

  /** @param deleteFile Deletes the file of a copy, and says so in the index. */
  constructor(client: IndexClient, home: IndexHome, deleteFile: (row: CopyRow) => Promise<void>) {
    this.#client = client;
    this.#home = home;
    this.#deleteFile = deleteFile;
  }

  /**
   * Takes over what is left by those that do not run, and by nobody.
   * @param patiently Makes a call again while another process writes, for as long as there is time.
   */
  async clearUp(patiently: <T>(call: () => Promise<T>) => Promise<T>): Promise<void> {
    const home = this.#home;
    const dead: string[] = [];
    for (const id of await this.#client.call('members', undefined))
      if (id !== home.member && !(await home.isRunning(id))) dead.push(id);
    // Before the bytes of their temporary files are anybody else's.
    for (const id of dead) await home.clearUp(id);
    const unfinished = await patiently(() => this.#client.call('inherit', { member: home.member, dead }));
    for (const row of unfinished) await this.#delete(row);
  }

  /** Deletes what could not be deleted before. */
  async tryAgain(): Promise<void> {
    for (const row of [...this.#again]) await this.#delete(row);
  }

  /** Says that this process uses the tier no more. Never rejects. */
  async leave(): Promise<void> {
    for (let tries = 0; tries < TRIES_TO_LEAVE; tries++) {
      try {
        await this.#client.call('leave', { member: this.#home.member });
        return;
      } catch (error) {
        if (!isTieredError(error, 'TIERED_UNAVAILABLE')) return;
      }
    }
  }

  async #delete(row: CopyRow): Promise<void> {
    this.#again.delete(row);
    await this.#deleteFile(row).catch(() => this.#again.add(row));
  }
}
