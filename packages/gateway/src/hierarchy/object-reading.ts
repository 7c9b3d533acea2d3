import type { Hierarchy } from '@tiered/core';
import { onAbort } from '@tiered/core/internal';
import type { OpenObject, OpenOptions } from '../reads/read-storage.js';
import { noSuchKey } from '../protocol/s3-error.js';
import { notCached, objectChanged, saysNotFound, storageError } from './errors.js';
import { nameOfLevel } from './levels.js';
import type { HierarchyObject, StorageParts } from './parts.js';

/** Bytes of a piece that a tier gives. */
const PIECE = 1024 * 1024;
/** Bytes of a piece of the source, where each read may cost a request. */
const SOURCE_PIECE = 8 * 1024 * 1024;

interface Piece {
  readonly bytes: Uint8Array;
  readonly level: number | undefined;
}

/** A piece that is being read, and the memory that it has. */
interface Reading {
  readonly granted: number;
  readonly piece: Promise<Piece>;
}

/**
 * A range of an object, piece by piece. The next piece is read while the present one is sent, if there is
 * memory for it. All pieces are of the version that the object was described with: if it changes meanwhile,
 * the next piece is an error.
 */
export class ObjectReading implements OpenObject {
  readonly #parts: StorageParts;
  readonly #object: HierarchyObject;
  readonly #options: OpenOptions;
  readonly #granted: number | undefined;
  #level: number | undefined;

  /** @param granted Memory that the first piece has already. Default: it takes as much as it wants. */
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
    const ended = new AbortController();
    const stopListening = onAbort(signal, (reason) => ended.abort(reason));
    const { start, end: last } = range;
    let at = start;
    let reading = this.#granted === undefined ? undefined : this.#begin(start, this.#granted, ended.signal);
    try {
      while (at <= last) {
        reading ??= this.#begin(at, memory.take(this.#wanted(last + 1 - at)), ended.signal);
        const { granted, piece } = reading;
        const { bytes, level } = await piece;
        this.#note(level);
        at += bytes.byteLength;
        const room = at <= last ? memory.takeIfFree(this.#wanted(last + 1 - at)) : 0;
        reading = room > 0 ? this.#begin(at, room, ended.signal) : undefined;
        try {
          yield bytes;
        } finally {
          memory.release(granted);
        }
      }
    } catch (error) {
      throw signal.aborted ? signal.reason : this.#explained(error);
    } finally {
      ended.abort(new Error('Nobody takes the bytes any more.'));
      stopListening();
      await this.#giveUp(reading);
    }
  }

  /** A tier gives small pieces as fast as large ones. */
  #wanted(left: number): number {
    const isOnTier = this.#hierarchy.placeOf(this.#object.id) !== undefined;
    return Math.min(left, isOnTier ? PIECE : SOURCE_PIECE);
  }

  #explained(error: unknown): unknown {
    if (saysNotFound(error)) return noSuchKey(this.#parts.prefix + this.#object.key);
    return storageError(error);
  }

  #begin(offset: number, length: number, signal: AbortSignal): Reading {
    const piece = this.#read(offset, length, signal);
    // It is awaited only once the piece before it has been sent.
    piece.catch(() => undefined);
    return { granted: length, piece };
  }

  async #read(offset: number, length: number, signal: AbortSignal): Promise<Piece> {
    const { watch } = this.#parts;
    const { key, id, version } = this.#object;
    const read = watch.read(() => this.#hierarchy.read(key, { offset, length, signal }));
    const bytes = await read.bytes;
    if (bytes.byteLength !== length || this.#hierarchy.namespace.versionOf(id) !== version)
      throw objectChanged();
    return { bytes, level: read.level() };
  }

  #note(level: number | undefined): void {
    if (level === undefined || level < (this.#level ?? 0)) return;
    this.#level = level;
    // It was on a tier when it was looked up, and is not any more.
    if (this.#options.onlyIfCached && this.from === 'source') throw notCached();
  }

  /** The memory of a piece that nobody waits for is free once nothing is read into it. */
  async #giveUp(reading: Reading | undefined): Promise<void> {
    if (reading === undefined) return;
    await reading.piece.catch(() => undefined);
    this.#parts.memory.release(reading.granted);
  }
}
