import { isTieredError } from '@tiered/core';
import { allEnded } from '@tiered/core/internal';
import type { ObjectFill } from '../fill/object-fill.js';
import type { Reading } from './served-reads.js';
import type { Range } from '../source/range-reads.js';
import { readInNewMemory, type Origin } from './origin.js';

/** A range that a fill serves completely. */
export class FillOrigin implements Origin {
  readonly #fill: ObjectFill;
  readonly #range: Range;

  constructor(fill: ObjectFill, range: Range) {
    this.#fill = fill;
    this.#range = range;
  }

  read({ signal }: Reading): Promise<Uint8Array> {
    return this.#fill.read(this.#range.offset, this.#range.length, signal);
  }

  readInto(target: Uint8Array, { signal }: Reading): Promise<void> {
    return this.#fill.readInto(target, this.#range.offset, signal);
  }
}

/** A range whose beginning a fill serves. Its tier has no room for more of the object. */
export class SplicedOrigin implements Origin {
  readonly #fill: ObjectFill;
  readonly #range: Range;
  readonly #rest: Origin;

  /** @param rest The origin of the bytes after those of the fill. */
  constructor(fill: ObjectFill, range: Range, rest: Origin) {
    this.#fill = fill;
    this.#range = range;
    this.#rest = rest;
  }

  read(reading: Reading): Promise<Uint8Array> {
    return readInNewMemory(this, this.#range, reading);
  }

  async readInto(target: Uint8Array, reading: Reading): Promise<void> {
    const { offset } = this.#range;
    // Not into the target yet: both parts are certain to be of one version only once the rest has arrived
    // too.
    const head = new Uint8Array(this.#fill.bytes - offset);
    const tail = target.subarray(head.byteLength);
    try {
      await allEnded([this.#fill.readInto(head, offset, reading.signal), this.#rest.readInto(tail, reading)]);
    } catch (error) {
      if (isTieredError(error, 'TIERED_SOURCE_CHANGED')) tail.fill(0);
      throw error;
    }
    target.set(head);
  }
}
