import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { IndexHome, OperationOptions } from '../driver/driver.js';
import { MemoryDriver, type MemoryDriverOptions } from '../driver/memory-driver.js';
import { MemoryLocks } from './memory-locks.js';

/**
 * Memory that several hierarchies of this process can use as a tier, one after the other or concurrently, as
 * processes use a directory. Its index is in a directory of its own, which is deleted when the process ends.
 */
export class IndexedMemoryDriver extends MemoryDriver {
  override readonly capabilities = Object.freeze({ ...new MemoryDriver().capabilities, index: true });
  /** The directory of the index. */
  readonly directory: string;
  readonly #running = new Set<string>();
  readonly #locks = new MemoryLocks();
  #opened = 0;

  constructor(options: MemoryDriverOptions = {}) {
    super(options);
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-index-'));
    this.directory = directory;
    process.once('exit', () => fs.rmSync(directory, { recursive: true, force: true }));
    process.setMaxListeners(0);
  }

  /** From now on, all members but the latest look as if their processes had been killed. */
  killOthers(): void {
    for (const member of [...this.#running].slice(0, -1)) {
      this.#running.delete(member);
      this.#locks.end(member);
    }
  }

  override async openIndex({ signal }: OperationOptions): Promise<IndexHome> {
    signal?.throwIfAborted();
    this.#opened += 1;
    const member = `memory.${this.#opened}`;
    this.#running.add(member);
    const file = path.join(this.directory, 'index.db');
    if (!fs.existsSync(file)) fs.writeFileSync(file, '');
    return {
      member,
      path: file,
      durable: false,
      boot: 'this process',
      isOnTier: false,
      blockBytes: 1,
      locks: this.#locks.of(member),
      isRunning: async (id) => this.#running.has(id),
      others: async () => [...this.#running].filter((id) => id !== member),
      clearUp: async () => undefined,
      forget: async () => undefined,
      removeEmptyDirectories: async () => undefined,
      close: async () => {
        this.#running.delete(member);
        this.#locks.end(member);
      },
    };
  }
}
