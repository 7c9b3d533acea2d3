import { sourceChanged, type OperationScope } from '@tiered/core/internal';
import type { PlacementHost } from '@tiered/core/placement';
import type { CopyIndex } from '../ledger/copy-index.js';
import type { VerifiedReader } from '../ledger/verified-reader.js';
import type { Fills } from '../admission/fills.js';
import type { Reading } from './served-reads.js';
import type { Range } from '../source/range-reads.js';
import { readInNewMemory, type Origin } from './origin.js';

/** Dependencies of `CopyOrigin`. */
export interface CopyOriginParts {
  readonly host: PlacementHost;
  readonly copies: CopyIndex;
  readonly fills: Fills;
  /** Runs reads of tiers. Their readers may leave; closing the tiers waits for the reads. */
  readonly tierReads: OperationScope;
  readonly closing: AbortSignal;
  /** Whether reads of copies are reported to the policy. */
  readonly seesHits: boolean;
}

/** A range that begins in a copy, which may end before the range does. */
export class CopyOrigin implements Origin {
  readonly #parts: CopyOriginParts;
  readonly #reader: VerifiedReader;
  readonly #range: Range;
  readonly #rest: Origin;
  readonly #instead: (reading: Reading) => Origin | Promise<Origin>;

  /**
   * @param rest The origin of the bytes after those of the copy.
   * @param instead Finds the origin of the whole range if the copy turns out not to be served any more.
   */
  constructor(
    parts: CopyOriginParts,
    reader: VerifiedReader,
    range: Range,
    rest: Origin,
    instead: (reading: Reading) => Origin | Promise<Origin>,
  ) {
    this.#parts = parts;
    this.#reader = reader;
    this.#range = range;
    this.#rest = rest;
    this.#instead = instead;
  }

  read(reading: Reading): Promise<Uint8Array> {
    return readInNewMemory(this, this.#range, reading);
  }

  async readInto(target: Uint8Array, reading: Reading): Promise<void> {
    const { object, offset, length } = this.#range;
    const held = Math.min(length, this.#reader.copy.bytes - offset);
    // The source first, not concurrently: if it has another version by now, the target must contain nothing
    // of this one.
    await this.#rest.readInto(target.subarray(held), reading);
    if (await this.#readHeld(target.subarray(0, held), reading)) return;
    const { namespace, source } = this.#parts.host;
    // The range belonged to another version. The caller must look up the size again.
    if (namespace.sizeOf(object.id) !== object.size)
      throw sourceChanged(source, object.key, { offset, got: 0, wanted: length });
    const origin = await this.#instead(reading);
    await origin.readInto(target, reading);
  }

  /** Reads the bytes that the copy holds. False if the copy failed. */
  async #readHeld(head: Uint8Array, { by, signal }: Reading): Promise<boolean> {
    const { host, copies, fills, tierReads, closing, seesHits } = this.#parts;
    const { object, offset } = this.#range;
    const { tier } = this.#reader;
    try {
      await tierReads.run(signal, (under) => this.#reader.into(head, offset, under));
    } catch (error) {
      signal?.throwIfAborted();
      closing.throwIfAborted();
      this.#failed(error);
      return false;
    }
    by.copy = tier.level;
    copies.settle(object.id, this.#reader);
    host.tierServed(tier, head.byteLength);
    if (seesHits) fills.hit(object.id, tier.level);
    return true;
  }

  #failed(error: unknown): void {
    const { host, copies, fills } = this.#parts;
    const { object } = this.#range;
    const { copy, tier } = this.#reader;
    // If the copy was dropped or moved meanwhile, the tier is not at fault.
    if (host.namespace.levelOf(object.id) !== tier.level || copies.knownReader(object.id)?.copy !== copy)
      return;
    fills.copyFailed(object, tier, error);
  }
}
