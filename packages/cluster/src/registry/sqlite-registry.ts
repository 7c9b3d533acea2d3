import { assertNoTilde, configError, invariant } from '@tiered/core/internal';
import { systemClock, type Clock } from '@tiered/core';
import os from 'node:os';
import path from 'node:path';
import { Calls } from './calls.js';
import { assertSlot, checkedRecord } from './checks.js';
import { RecordThread } from './record-thread.js';
import type { PutOptions, Registry, RegistryCallOptions, RegistryEntry } from './registry.js';
import { Watchers } from './watchers.js';

/** Milliseconds after which a call times out because another process was stopped while writing. */
const BOUND_MS = 2000;
/** Milliseconds between two looks for changes. Each takes some 50 microseconds of the thread. */
const LOOK_MS = 500;

const NAME = /^\w[\w.-]{0,63}$/;

/** Options of a `SqliteRegistry`. */
export interface SqliteRegistryOptions {
  /**
   * The path of the file. The file and its directory are created if missing, with modes 0600 and 0700. The
   * file has to be on a disk of this machine, or in memory: SQLite's locks do not work on every network file
   * system. All processes have to reach the same file, so containers mount the directory, not the file.
   */
  readonly path: string;
  /** Times out calls, and paces looks for changes. Default: `systemClock`. */
  readonly clock?: Clock | undefined;
  /**
   * Milliseconds of a clock that all processes of the machine share. Records expire by it. Default: the time
   * since the machine was started, without the time it was suspended. Unlike the time of day it never jumps,
   * so setting the clock costs no member its slot.
   */
  readonly now?: (() => number) | undefined;
}

/**
 * A registry for processes of one machine, also in several containers: a small SQLite file. It is the default
 * because it needs no server.
 *
 * A slot has one owner at a time, even if processes are killed or stopped at any moment. A process that is
 * stopped while it writes blocks the writes of others: their calls reject with `TIERED_UNAVAILABLE` after 2
 * s, until the process resumes or is killed. Calls while the disk hangs reject in the same way. No call
 * blocks the event loop; a thread makes them.
 *
 * A damaged file is moved aside (`FILE.damaged`) and replaced by a new one. Records reappear when their
 * members put them again. The same holds for a deleted file.
 *
 * `open` rejects with `TIERED_PERMISSION` for a file or a directory of another user, a file that others may
 * read, and a directory that others may write to. It rejects with `TIERED_DIRECTORY_NOT_OURS` for a database
 * of another kind. `watch` checks for changes every 500 ms.
 */
export class SqliteRegistry implements Registry {
  readonly name: string;
  /** The absolute path of the file. */
  readonly path: string;
  readonly longestTtlMs = Infinity;
  readonly #clock: Clock;
  readonly #now: () => number;
  readonly #calls: Calls;
  #thread: RecordThread | undefined;
  readonly #watchers: Watchers;

  /** @throws TieredError `TIERED_CONFIG_INVALID` for a path that is empty or begins with `~`. */
  constructor({ path: file, clock = systemClock, now = sinceStart }: SqliteRegistryOptions) {
    if (typeof file !== 'string' || file === '') throw configError('path', 'the path of a file', file);
    assertNoTilde('path', file);
    this.path = path.resolve(file);
    this.name = `sqlite:${this.path}`;
    this.#clock = clock;
    this.#now = now;
    this.#calls = new Calls(this.name, clock, BOUND_MS);
    this.#watchers = new Watchers((signal) => {
      if (!this.#calls.isClosed) void this.#look(signal);
    });
  }

  /**
   * Makes the registry of a name, for the processes of this user. Its file is in a directory of the user,
   * below `XDG_RUNTIME_DIR` or else the directory of temporary files. Processes that share the registry need
   * the same of these. Containers have neither in common, so they give a `path`.
   * @param name 1 to 64 letters, digits, `_`, `-` and `.`, such as that of the training.
   * @throws TieredError `TIERED_CONFIG_INVALID` for an invalid name.
   */
  static named(name: string, options: Omit<SqliteRegistryOptions, 'path'> = {}): SqliteRegistry {
    if (!NAME.test(name)) throw configError('name', '1 to 64 letters, digits, "_", "-" and "."', name);
    const { XDG_RUNTIME_DIR: own = '' } = process.env;
    const directory = path.join(own === '' ? os.tmpdir() : own, `tiered-${process.getuid?.() ?? 'run'}`);
    return new SqliteRegistry({ ...options, path: path.join(directory, `${name}.db`) });
  }

  async open({ signal }: RegistryCallOptions = {}): Promise<void> {
    try {
      await this.#calls.open(signal, (ends) => {
        this.#thread ??= new RecordThread(this.path, this.name, this.#clock);
        return this.#thread.call('open', undefined, ends);
      });
    } catch (error) {
      if (!this.#calls.isOpen) await this.#endThread();
      throw error;
    }
  }

  async put(entry: RegistryEntry, options: PutOptions): Promise<boolean> {
    const record = checkedRecord(entry, options);
    const { slot, owner } = entry;
    return this.#call(options.signal, (thread, ends) =>
      thread.call('put', { slot, owner, record, now: this.#now(), ttl: options.ttlMs }, ends),
    );
  }

  async all({ signal }: RegistryCallOptions = {}): Promise<readonly RegistryEntry[]> {
    return this.#call(signal, (thread, ends) => thread.call('all', { now: this.#now() }, ends));
  }

  watch(changed: () => void): () => void {
    return this.#watchers.add(changed);
  }

  async leave(slot: string, owner: string, { signal }: RegistryCallOptions = {}): Promise<void> {
    assertSlot(slot);
    return this.#call(signal, (thread, ends) => thread.call('leave', { slot, owner }, ends));
  }

  async close(): Promise<void> {
    this.#watchers.clear();
    await this.#calls.close();
    await this.#endThread();
  }

  async #endThread(): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.end();
  }

  #call<T>(
    signal: AbortSignal | undefined,
    call: (thread: RecordThread, ends: AbortSignal) => Promise<T>,
  ): Promise<T> {
    return this.#calls.run(signal, (ends) => {
      const thread = this.#thread;
      invariant(thread !== undefined, 'an open registry has a thread');
      return call(thread, ends);
    });
  }

  async #look(signal: AbortSignal): Promise<void> {
    let seen = await this.#version(signal);
    while (!signal.aborted) {
      await this.#clock.sleep(LOOK_MS, signal, { background: true }).catch(() => undefined);
      const version = await this.#version(signal);
      if (signal.aborted || version === undefined || version === seen) continue;
      seen = version;
      this.#watchers.tell();
    }
  }

  /** The version of the records; undefined while it cannot be read. */
  #version(signal: AbortSignal): Promise<string | undefined> {
    return this.#call(signal, (thread, ends) => thread.call('version', undefined, ends)).catch(
      () => undefined,
    );
  }
}

/** Milliseconds since the machine was started, the same in all of its processes. */
function sinceStart(): number {
  // eslint-disable-next-line no-restricted-properties
  return Number(process.hrtime.bigint() / 1_000_000n);
}
