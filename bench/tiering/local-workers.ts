import { on, once } from 'node:events';
import os from 'node:os';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { assertPiece, type Dataset, type DataObject } from './dataset.js';
import { pieceBytesOf, type Loader } from './loader.js';

/**
 * What a worker reads between two messages: more and it leaves the processor's cache, less and messages cost
 * too much.
 */
const BATCH_BYTES = 2 * 1024 * 1024;

/** A part of an object, or all of it. */
interface Piece {
  readonly object: DataObject;
  readonly offset: number;
  readonly length: number;
}

/**
 * A worker, and the memory that it reads into: two batches, so that it reads one while the other is looked
 * at.
 */
interface Lane {
  readonly worker: Worker;
  readonly memory: Uint8Array;
}

/**
 * A loader by hand, as fast as Node can be on a directory in the page cache: worker threads, as many as the
 * loader has readers and the machine cores, whose calls block, shared memory, and a message a batch.
 */
export class LocalWorkers {
  readonly #directory: string;
  readonly #loader: Loader;
  /** Bytes of a piece at most. */
  readonly #slotBytes: number;
  readonly #slots: number;
  readonly #lanes: readonly Lane[];

  private constructor({ directory, objects }: Dataset, loader: Loader) {
    this.#directory = directory;
    this.#loader = loader;
    this.#slotBytes = Math.max(...objects.map((object) => pieceBytesOf(object, loader)));
    this.#slots = Math.max(1, Math.floor(BATCH_BYTES / this.#slotBytes));
    const length = Math.min(loader.readers, os.availableParallelism());
    this.#lanes = Array.from({ length }, () => {
      const memory = new Uint8Array(new SharedArrayBuffer(2 * this.#slots * this.#slotBytes));
      const worker = new Worker(new URL('local-worker.mjs', import.meta.url), { workerData: memory });
      return { worker, memory };
    });
  }

  /** Resolves when its workers wait for the first batch. */
  static async start(dataset: Dataset, loader: Loader): Promise<LocalWorkers> {
    const workers = new LocalWorkers(dataset, loader);
    await Promise.all(
      workers.#lanes.map(({ worker }) => {
        worker.postMessage([]);
        return once(worker, 'message');
      }),
    );
    return workers;
  }

  /**
   * Reads every object once, and looks at each piece: each worker takes the next of the order when it is done
   * with one.
   */
  async readAll(order: readonly DataObject[]): Promise<void> {
    const remaining = order.values();
    await Promise.all(this.#lanes.map((lane) => this.#readBy(lane, this.#piecesOf(remaining))));
  }

  async close(): Promise<void> {
    await Promise.all(this.#lanes.map(({ worker }) => worker.terminate()));
  }

  async #readBy({ worker, memory }: Lane, pieces: Iterator<Piece>): Promise<void> {
    const answers = on(worker, 'message') as AsyncIterableIterator<[number[]]>;
    const underWay: (readonly Piece[])[] = [];
    const ask = (half: number) => {
      const batch = take(pieces, this.#slots);
      if (batch.length === 0) return;
      worker.postMessage(batch.map((piece, slot) => this.#readOf(piece, this.#placeOf(half, slot))));
      underWay.push(batch);
    };
    ask(0);
    ask(1);
    for (let half = 0; ; half = 1 - half) {
      const batch = underWay.shift();
      if (batch === undefined) break;
      const [lengths] = ((await answers.next()) as IteratorYieldResult<[number[]]>).value;
      for (const [slot, { object, offset, length }] of batch.entries()) {
        const at = this.#placeOf(half, slot);
        assertPiece(object, offset, memory.subarray(at, at + (lengths[slot] ?? 0)), length);
      }
      ask(half);
    }
    await answers.return?.();
  }

  #readOf({ object, offset, length }: Piece, at: number) {
    const isLast = offset + length === object.size;
    return { file: path.join(this.#directory, object.key), offset, length, at, isLast };
  }

  #placeOf(half: number, slot: number): number {
    return (half * this.#slots + slot) * this.#slotBytes;
  }

  *#piecesOf(objects: Iterable<DataObject>): Generator<Piece> {
    for (const object of objects) {
      const step = pieceBytesOf(object, this.#loader);
      for (let offset = 0; offset < object.size; offset += step)
        yield { object, offset, length: Math.min(step, object.size - offset) };
    }
  }
}

function take(pieces: Iterator<Piece>, count: number): Piece[] {
  const taken: Piece[] = [];
  while (taken.length < count) {
    const next = pieces.next();
    if (next.done === true) break;
    taken.push(next.value);
  }
  return taken;
}
