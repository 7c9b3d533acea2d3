import { raceAbort } from '@tiered/core/internal';
import type { MemoryBudget } from './memory-budget.js';
import type { SourceGate } from './source-gate.js';
import { memoryFor, partOf, type SourceObject, type SourceReads } from './source-reads.js';

/** A range of an object that is read without being placed. */
export interface Range extends SourceObject {
  readonly id: number;
  readonly offset: number;
  readonly length: number;
}

interface Running extends Range {
  readonly memory: Uint8Array;
  readonly abort: AbortController;
  readonly arrived: Promise<void>;
  readers: number;
}

/**
 * Reads of what is not being placed: one request for each range, shared by all who want a part of it while it is under
 * way, and aborted when the last of them has left.
 */
export class RangeReads {
  readonly #source: SourceReads;
  readonly #gate: SourceGate;
  readonly #budget: MemoryBudget;
  readonly #running = new Map<number, Set<Running>>();
  readonly #ends = new Set<Promise<void>>();

  constructor(source: SourceReads, gate: SourceGate, budget: MemoryBudget) {
    this.#source = source;
    this.#gate = gate;
    this.#budget = budget;
  }

  /** Requests under way. */
  get count(): number {
    return this.#ends.size;
  }

  /** Whether a request under way brings this range of this version. */
  covers(range: Range): boolean {
    return this.#covering(range) !== undefined;
  }

  /** The bytes of a range. An abort lets go at once; what others wait for goes on. */
  async read(range: Range, signal: AbortSignal | undefined): Promise<Uint8Array> {
    signal?.throwIfAborted();
    const running = this.#covering(range) ?? this.#start(range);
    running.readers += 1;
    try {
      await raceAbort(running.arrived, signal);
      return partOf(running.memory, range.offset - running.offset, range.length);
    } finally {
      running.readers -= 1;
      if (running.readers === 0) this.#forget(running);
    }
  }

  /** Aborts all, and waits until none is left. Nobody starts one meanwhile. */
  async close(reason: Error): Promise<void> {
    for (const ranges of this.#running.values()) for (const { abort } of ranges) abort.abort(reason);
    while (this.#ends.size > 0) await Promise.all(this.#ends);
  }

  #covering({ id, version, offset, length }: Range): Running | undefined {
    for (const running of this.#running.get(id) ?? []) {
      const ends = running.offset + running.length;
      if (running.version === version && offset >= running.offset && offset + length <= ends) return running;
    }
    return undefined;
  }

  #start(range: Range): Running {
    const { id, key, version, offset, length } = range;
    const memory = memoryFor(length);
    const abort = new AbortController();
    const request = () => this.#source.into({ key, version }, memory, offset, abort.signal);
    this.#budget.take(length);
    const arrived = this.#gate.foreground(request);
    const running = { ...range, memory, abort, arrived, readers: 0 };
    const siblings = this.#running.get(id) ?? new Set();
    this.#running.set(id, siblings.add(running));
    const end = arrived
      .catch(() => undefined)
      .then(() => {
        this.#ends.delete(end);
        this.#budget.release(length);
        // Whoever comes now asks anew: bytes that are there are their readers', and an error is over.
        this.#forget(running);
      });
    this.#ends.add(end);
    return running;
  }

  #forget(running: Running): void {
    const siblings = this.#running.get(running.id);
    if (siblings?.delete(running) !== true) return;
    if (siblings.size === 0) this.#running.delete(running.id);
    running.abort.abort(new DOMException('Nobody waits for these bytes any more.', 'AbortError'));
  }
}
