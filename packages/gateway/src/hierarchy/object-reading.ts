import type { Hierarchy } from '@tiered/core';
import { onAbort } from '@tiered/core/internal';
import type { OpenObject, OpenOptions } from '../reads/read-storage.js';
import { noSuchKey } from '../protocol/s3-error.js';
import { notCached, ObjectChanged, saysNotFound, storageError } from './errors.js';
import { nameOfLevel, type ServedFrom } from './levels.js';
import type { HierarchyObject, StorageParts } from './parts.js';
import { LEAST_PIECE } from './piece-memory.js';

const MIB = 1024 * 1024;
/**
 * Bytes of a piece, by where it comes from. Small pieces copied from a disk to a client stay in the
 * processor's cache. A tier in memory returns a view. Elsewhere each read may cost a request.
 */
const PIECE = { ram: MIB, disk: LEAST_PIECE, bucket: 8 * MIB, source: 8 * MIB } as const;

interface Piece {
  readonly bytes: Uint8Array;
  readonly level: number | undefined;
  /** Whether its memory has to be given back. */
  readonly isLent: boolean;
}

/** A piece that is being read, and its memory. */
interface Reading {
  readonly granted: number;
  readonly piece: Promise<Piece>;
}

/**
 * A range of an object, piece by piece. The next piece is read while the present one is sent, if there is
 * memory for it. All pieces are of the version that the object was described with. If the object changes
 * meanwhile, the next piece is an error.
 */
export class ObjectReading implements OpenObject {
  readonly #parts: StorageParts;
  readonly #object: HierarchyObject;
  readonly #options: OpenOptions;
  readonly #granted: number | undefined;
  #level: number | undefined;

  /** @param granted Memory that the first piece already has. Default: it takes as much as it wants. */
  constructor(parts: StorageParts, object: HierarchyObject, options: OpenOptions, granted?: number) {
    this.#granted = granted;
    this.#parts = parts;
    this.#object = object;
    this.#options = options;
  }

  get from(): string | undefined {
    return this.#level === undefined ? undefined : nameOfLevel(this.#hierarchy, this.#level);
  }

  get #hierarchy(): Hierarchy {
    return this.#parts.hierarchy;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    const { memory } = this.#parts;
    const { range, signal } = this.#options;
    const ahead = new AheadSignal(signal);
    const { start, end: last } = range;
    let at = start;
    let reading = this.#granted === undefined ? undefined : this.#begin(start, this.#granted, signal);
    try {
      while (at <= last) {
        reading ??= this.#begin(at, memory.take(this.#wanted(last + 1 - at)), signal);
        const { granted, piece } = reading;
        const { bytes, level, isLent } = await piece;
        this.#note(level);
        at += bytes.byteLength;
        const room = at <= last ? memory.takeIfFree(this.#wanted(last + 1 - at)) : 0;
        reading = room > 0 ? this.#begin(at, room, ahead.signal) : undefined;
        try {
          yield bytes;
          // Not after a failure: the receiver of the bytes may still be sending them.
          if (isLent) memory.giveBack(bytes);
        } finally {
          memory.release(granted);
        }
      }
    } catch (error) {
      throw signal.aborted ? signal.reason : this.#explained(error);
    } finally {
      ahead.end();
      await this.#giveUp(reading);
    }
  }

  #wanted(left: number): number {
    return Math.min(left, PIECE[this.#place]);
  }

  /** Where a read would be served from now. */
  get #place(): ServedFrom {
    const { level = this.#hierarchy.tiers.length } = this.#hierarchy.placeOf(this.#object.id) ?? {};
    return nameOfLevel(this.#hierarchy, level);
  }

  #explained(error: unknown): unknown {
    if (saysNotFound(error)) return noSuchKey(this.#parts.prefix + this.#object.key);
    return storageError(error);
  }

  #begin(offset: number, length: number, signal: AbortSignal): Reading {
    const piece = this.#read(offset, length, signal);
    // It is awaited only after the previous piece has been sent.
    piece.catch(() => undefined);
    return { granted: length, piece };
  }

  async #read(offset: number, length: number, signal: AbortSignal): Promise<Piece> {
    const { watch, memory } = this.#parts;
    const { key, id, version } = this.#object;
    // A tier in memory already has the bytes there. The source may, too.
    const target = this.#place === 'disk' ? memory.lend(length) : undefined;
    const read = watch.read(() =>
      target === undefined
        ? this.#hierarchy.read(key, { offset, length, signal })
        : this.#readInto(target, offset, signal),
    );
    const bytes = await read.bytes;
    if (bytes.byteLength !== length || this.#hierarchy.namespace.versionOf(id) !== version)
      throw new ObjectChanged();
    return { bytes, level: read.level(), isLent: target !== undefined };
  }

  async #readInto(target: Uint8Array, offset: number, signal: AbortSignal): Promise<Uint8Array> {
    const length = await this.#hierarchy.readInto(this.#object.key, target, { offset, signal });
    return target.subarray(0, length);
  }

  #note(level: number | undefined): void {
    if (level === undefined || level < (this.#level ?? 0)) return;
    this.#level = level;
    // It was on a tier when it was looked up, and no longer is.
    if (this.#options.onlyIfCached && this.from === 'source') throw notCached();
  }

  /** Frees the memory of an abandoned piece once nothing is read into it any more. */
  async #giveUp(reading: Reading | undefined): Promise<void> {
    if (reading === undefined) return;
    await reading.piece.catch(() => undefined);
    this.#parts.memory.release(reading.granted);
  }
}

/** The signal of pieces that are read before their turn. Made on demand: most answers have no such pieces. */
class AheadSignal {
  readonly #outer: AbortSignal;
  #controller: AbortController | undefined;
  #stopListening: (() => void) | undefined;

  /** @param outer Aborts this signal too. */
  constructor(outer: AbortSignal) {
    this.#outer = outer;
  }

  get signal(): AbortSignal {
    if (this.#controller !== undefined) return this.#controller.signal;
    const controller = new AbortController();
    this.#controller = controller;
    this.#stopListening = onAbort(this.#outer, (reason) => controller.abort(reason));
    return controller.signal;
  }

  /** Aborts it: the bytes are no longer wanted. */
  end(): void {
    this.#stopListening?.();
    this.#controller?.abort(new Error('Nobody takes the bytes any more.'));
  }
}
