import type { Hierarchy, HierarchyStats } from '@tiered/core';
import type { AheadCounts } from '../replay/ahead.js';
import type { ProgramsSeen } from '../ring/ring.js';
import { environmentFor, shimFile } from '../shim-file.js';
import type { FarmCounts } from './farm.js';
import { assertOpenable } from './locations.js';
import type { SessionAbout } from './session-directory.js';
import type { EpochOfFiles, OpenedFiles } from './open-counts.js';
import { openSession, type Session, type SessionOptions } from './session.js';

/** Opens of programs, and the work that was done for them. */
export interface InterposerStats extends OpenedFiles {
  /**
   * The same by epochs, where they can be told apart: programs open nearly all files in each, and at least
   * eight. Else empty.
   */
  readonly epochs: readonly EpochOfFiles[];
  /**
   * How many of the opens can get a copy at most with this room, if files are placed once they were opened:
   * not the first open of a file that had no copy, and in each epoch only as many files as fit. Undefined
   * with a plan or a farm, for which files are placed before.
   */
  readonly most: number | undefined;
  /** Opens in the source of files whose copy, of an earlier daemon, was not checked yet. */
  readonly unchecked: number;
  /** Opens in the source of files that a program opened for writing. */
  readonly written: number;
  /** Events of programs, which explain why no file was opened. */
  readonly programs: ProgramsSeen;
  /** Opens that could not be counted, because too many came at once or a program died. */
  readonly uncounted: number;
  /** With a plan: what was done ahead of programs. */
  readonly ahead: AheadCounts | undefined;
  /** With a farm: its links. */
  readonly farm: FarmCounts | undefined;
  /** Opens that were not recorded, because the file could not be written fast enough, or not at all. */
  readonly unrecorded: number;
  /** Opens that failed because an object could not be read, and why the last of them did. */
  readonly failed: { readonly count: number; readonly lastError: unknown };
  readonly hierarchy: HierarchyStats;
}

const NONE_FAILED = { count: 0, lastError: undefined };

/**
 * Serves a hierarchy to programs that know nothing of it. They run under the shim, which opens copies in
 * place of the source's files (MONARCH, CCGrid'22, section III-B). A file that they read from the source is
 * placed in the background.
 *
 * This process only tells them where copies are. If it dies, or hangs, they read the source from then on.
 */
export class Interposer implements AsyncDisposable {
  readonly #session: Session;
  #closing: Promise<void> | undefined;

  /**
   * Opens the hierarchy, and makes the table that programs look into.
   * @throws TieredError `TIERED_CONFIG_INVALID` for levels that programs cannot open; `TIERED_UNSUPPORTED` if
   * there is no shim for this platform; `TIERED_NO_SPACE` if there is no room for the table; what
   * `Hierarchy.open` throws. An abort rejects with `signal.reason`.
   */
  static async open(options: SessionOptions): Promise<Interposer> {
    // Others find it by name, and may do without the shim.
    if (options.at === undefined && options.farm === undefined) shimFile();
    assertOpenable(options.hierarchy, options.root, options.aliases);
    return new Interposer(await openSession(options));
  }

  private constructor(session: Session) {
    this.#session = session;
  }

  /** The hierarchy that it serves. */
  get hierarchy(): Hierarchy {
    return this.#session.hierarchy;
  }

  /** The paths that it serves. */
  get about(): SessionAbout {
    return this.#session.about;
  }

  /**
   * The environment of a program that is to run under the shim.
   * @param env What it has besides. Default: that of this process.
   */
  environment(env: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
    return environmentFor(this.#session.directory, env);
  }

  /** Statistics since the start. */
  stats(): InterposerStats {
    const { listener, follower, ring, readable, ahead, recorder, farm } = this.#session;
    if (this.#closing === undefined) listener.take();
    const { strange, unchecked, written } = follower.counts;
    const hierarchy = this.hierarchy.stats();
    const room = hierarchy.tiers.reduce((sum, { quotaBytes }) => sum + quotaBytes, 0);
    const isAhead = ahead !== undefined || farm !== undefined;
    return {
      ...follower.opens.total,
      epochs: follower.opens.epochs,
      most: isAhead ? undefined : follower.opens.most(room),
      unchecked,
      written,
      programs: ring.programs,
      uncounted: ring.lost + strange,
      failed: readable?.failed ?? NONE_FAILED,
      ahead: ahead?.counts,
      farm: farm?.counts,
      unrecorded: recorder?.lost ?? 0,
      hierarchy,
    };
  }

  /** Resolves when nothing is being placed or checked for programs that was asked for until now. */
  async idle(): Promise<void> {
    this.#session.listener.take();
    await this.#session.requests.idle();
    await this.#session.filling?.idle();
    await this.#session.ahead?.idle();
    await this.#session.socket.idle();
    await this.#session.readable?.idle();
    await this.hierarchy.idle();
  }

  /**
   * Lists the source again, so that programs read copies also of what came since.
   * @throws As `Hierarchy.rescan` does; `TIERED_CLOSED`; `TIERED_NO_SPACE`. After an abort, what was taken
   * in until then stays.
   */
  rescan({ signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<void> {
    return this.#session.rescan(signal);
  }

  /** Ends everything. Programs that still run read the source from now on. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#session.close();
    return this.#closing;
  }

  /** Calls `close`, at the end of an `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
