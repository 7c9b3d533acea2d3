import type { Hierarchy } from '@tiered/core';
import { closedError, copyName, newTag } from '@tiered/core/internal';
import { open, mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import pLimit from 'p-limit';
import type { HeldCopy } from './socket.js';

/** Read from the hierarchy at once. */
const PART_BYTES = 8 * 2 ** 20;

/** Fetched at the same time. Others wait. */
const AT_A_TIME = 16;

interface Spooled {
  readonly path: string;
  readonly bytes: number;
  /** Programs that are about to open it. */
  users: number;
  ready: Promise<void>;
}

/**
 * Files of objects that no tier takes, for programs that wait for them: each is fetched whole, and stays for
 * a while in case that others want it too. A program keeps a file that it has opened, whatever becomes of its
 * name.
 */
export class Spool {
  readonly #hierarchy: Hierarchy;
  readonly #directory: string;
  readonly #room: number;
  readonly #limit = pLimit(AT_A_TIME);
  /** By id and version, those that were used last at the end. */
  readonly #spooled = new Map<string, Spooled>();
  readonly #fetches = new Set<Promise<void>>();
  readonly #removals = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  #bytes = 0;

  /**
   * @param directory For its files alone.
   * @param room Bytes of files that stay although nobody is about to open them.
   */
  constructor(hierarchy: Hierarchy, directory: string, room: number) {
    this.#hierarchy = hierarchy;
    this.#directory = directory;
    this.#room = room;
  }

  /**
   * Fetches an object into a file, which stays until it is let go.
   * @throws As `Hierarchy.read` does; `TIERED_CLOSED`; errors of the system.
   */
  async hold(id: number): Promise<HeldCopy> {
    this.#closing.signal.throwIfAborted();
    const spooled = this.#take(id);
    spooled.users += 1;
    const letGo = () => {
      spooled.users -= 1;
      this.#tidy();
    };
    try {
      await spooled.ready;
      return { path: spooled.path, letGo };
    } catch (error) {
      letGo();
      throw error;
    }
  }

  /** Resolves when no file is being removed. */
  async idle(): Promise<void> {
    await Promise.all(this.#removals);
  }

  /** Gives up what is being fetched. Nothing is made or removed in the directory from then on. */
  async close(): Promise<void> {
    this.#closing.abort(closedError());
    // Those who wait for a fetch are told what became of it.
    await Promise.allSettled(this.#fetches);
    await this.idle();
  }

  /** The file of an object, which may be on its way. */
  #take(id: number): Spooled {
    const { namespace } = this.#hierarchy;
    const name = `${id} ${namespace.versionOf(id)}`;
    const spooled = this.#spooled.get(name) ?? this.#begin(id, name);
    this.#spooled.delete(name);
    this.#spooled.set(name, spooled);
    return spooled;
  }

  #begin(id: number, name: string): Spooled {
    const { namespace } = this.#hierarchy;
    const key = namespace.keyOf(id);
    const file = path.join(this.#directory, copyName(key, newTag()));
    const ready = this.#limit(() => this.#fetch(key, file))
      .catch(async (error: unknown) => {
        await this.#remove(name, spooled);
        throw error;
      })
      .finally(() => this.#fetches.delete(ready));
    this.#fetches.add(ready);
    const spooled: Spooled = { path: file, bytes: namespace.sizeOf(id), users: 0, ready };
    this.#bytes += spooled.bytes;
    return spooled;
  }

  async #fetch(key: string, file: string): Promise<void> {
    const { signal } = this.#closing;
    signal.throwIfAborted();
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
    const handle = await this.#hierarchy.handle(key, { signal });
    const target = Buffer.alloc(Math.min(PART_BYTES, handle.size));
    const output = await open(file, 'wx', 0o600);
    try {
      for (let offset = 0; offset < handle.size; offset += target.byteLength) {
        const bytes = await handle.readInto(target, { offset, signal });
        await output.writeFile(target.subarray(0, bytes));
      }
    } finally {
      await output.close();
    }
  }

  /** Files go that nobody is about to open, those first that were not wanted for longest. */
  #tidy(): void {
    if (this.#closing.signal.aborted) return;
    for (const [name, spooled] of this.#spooled) {
      if (this.#bytes <= this.#room) return;
      if (spooled.users > 0) continue;
      const removal = this.#remove(name, spooled)
        .catch(() => undefined)
        .finally(() => this.#removals.delete(removal));
      this.#removals.add(removal);
    }
  }

  async #remove(name: string, spooled: Spooled): Promise<void> {
    if (this.#spooled.get(name) !== spooled) return;
    this.#spooled.delete(name);
    this.#bytes -= spooled.bytes;
    await rm(spooled.path, { force: true });
  }
}
