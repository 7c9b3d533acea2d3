import type { Clock, Namespace } from '@tiered/core';
import type { CopyPlace, Placement } from '@tiered/core/placement';
import type { Ahead } from '../replay/ahead.js';
import type { Recorder } from '../replay/recorder.js';
import type { Message } from '../ring/ring.js';
import type { Farm } from './farm.js';
import { OpenCounts } from './open-counts.js';
import { placeForPrograms, type PublishedTable } from './published-table.js';
import type { Requests } from './requests.js';
import type { FileKnowledge } from './source-files.js';

/** Objects between two turns of the event loop. */
const AT_A_TIME = 10_000;

/** The parts that have to follow. */
export interface FollowerParts {
  readonly namespace: Namespace;
  /** The level of objects that are in the source alone. */
  readonly sourceLevel: number;
  /** The placement of the hierarchy. */
  readonly placement: Placement | undefined;
  readonly table: PublishedTable;
  readonly farm?: Farm | undefined;
  readonly files: FileKnowledge;
  readonly requests: Requests;
  /** Places instead, if a plan says which files programs will open. */
  readonly ahead?: Ahead | undefined;
  readonly recorder?: Recorder | undefined;
  readonly clock?: Clock | undefined;
}

/** Counts of opens. */
export interface ProgramCounts {
  /** Opens in the source of files whose copy, of an earlier daemon, was not checked yet. */
  readonly unchecked: number;
  /** Opens in the source of files that a program opened for writing. */
  readonly written: number;
  /** Messages about files that are not known. */
  readonly strange: number;
}

/**
 * Lets the table follow the placement, and the placement follow the programs: what they read from the source
 * is placed, and what they read from tiers is said to policies that want to know it.
 */
export class Follower {
  readonly #parts: FollowerParts;
  readonly #counts = { unchecked: 0, written: 0, strange: 0 };
  /** Counts of opened files, by epochs. */
  readonly opens: OpenCounts;

  constructor(parts: FollowerParts) {
    this.#parts = parts;
    this.opens = new OpenCounts(parts.namespace, parts.clock);
  }

  /** A copy of what was done so far. */
  get counts(): ProgramCounts {
    return { ...this.#counts };
  }

  /** An object is read from another place from now on. */
  moved(id: number, place: CopyPlace | undefined): void {
    const { table, farm, files, requests } = this.#parts;
    const copy = placeForPrograms(place);
    if (copy !== undefined) files.has(id);
    table.moved(id, copy);
    farm?.moved(id, copy);
    requests.moved(id);
    this.#parts.ahead?.moved(id, place !== undefined);
    if (place?.direct === false) requests.check(id);
  }

  /** A program opened a file, and says at which slot of the table it found that. */
  opened({ kind, generation, slot }: Message): void {
    this.#opened(kind, this.#parts.table.objectAt(generation, slot) ?? -1);
  }

  #opened(kind: Message['kind'], id: number): void {
    const { namespace, sourceLevel, placement, files, requests } = this.#parts;
    if (id < 0 || id >= namespace.count) {
      this.#counts.strange += 1;
      return;
    }
    const level = namespace.levelOf(id);
    const isUnchecked = kind === 'source' && level < sourceLevel && namespace.directLevelOf(id) !== level;
    const isKept = isUnchecked || (kind === 'written' && level < sourceLevel);
    this.opens.opened(id, kind === 'copy' ? kind : isKept ? 'kept' : 'source');
    this.#parts.recorder?.opened(namespace.keyOf(id));
    this.#parts.ahead?.opened(kind === 'copy' ? kind : 'source', id);
    if (kind === 'written') {
      this.#counts.written += 1;
      return;
    }
    if (kind === 'copy') {
      files.want(id);
      if (placement?.seesHits === true && level < sourceLevel) placement.hit(id, level);
      return;
    }
    if (level === sourceLevel) {
      if (this.#parts.ahead === undefined) requests.place(id);
    } else if (isUnchecked) {
      this.#counts.unchecked += 1;
      requests.check(id);
    }
  }

  /** Checks what an earlier daemon left on the tiers, so that programs read it. */
  async checkAll(turn: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const { namespace, sourceLevel, requests } = this.#parts;
    for (let id = 0; id < namespace.count && !signal.aborted; id++) {
      const level = namespace.levelOf(id);
      if (level < sourceLevel && namespace.directLevelOf(id) !== level) requests.check(id);
      if (id % AT_A_TIME === 0) await turn();
    }
  }
}
