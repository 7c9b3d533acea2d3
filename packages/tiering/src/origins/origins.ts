import type { ObjectRef } from '@tiered/core/placement';
import { raceAbort } from '@tiered/core/internal';
import type { VerifiedReader } from '../ledger/verified-reader.js';
import { turnOrCopy } from '../admission/turn-or-copy.js';
import { isCurrent } from '../fill/fill-parts.js';
import type { ObjectFill } from '../fill/object-fill.js';
import type { Reading } from './served-reads.js';
import type { Range, RangeReads } from '../source/range-reads.js';
import { OtherFetch, type FetchTurn } from '../tier/fetch-turns.js';
import { CopyOrigin, type CopyOriginParts } from './copy-origin.js';
import { FillOrigin, SplicedOrigin } from './fill-origin.js';
import type { Origin } from './origin.js';
import { SourceOrigin } from './source-origin.js';

/** A read requests room at most this many times, and then continues without it. */
const MOST_ASKS = 16;

/** Dependencies of `Origins`. */
export interface OriginsParts extends CopyOriginParts {
  readonly ranges: RangeReads;
  /** Whether readers wait if tiers are behind. */
  readonly readersWait: boolean;
}

/**
 * Decides where a range comes from, in this order: a copy that is unchecked or holds only the beginning of
 * the object, a fill in progress, a new fill, the source.
 */
export class Origins {
  readonly #parts: OriginsParts;

  constructor(parts: OriginsParts) {
    this.#parts = parts;
  }

  /** Finds the origin of a range. May begin a fill. An abort rejects at once. */
  of(range: Range, reading: Reading): Origin | Promise<Origin> {
    if (this.#mayBeHeld(range.object.id)) return this.#ofHeld(range, reading);
    return this.#beyondCopies(range, reading);
  }

  /** Finds the origin of a range that a tier may have a copy of. */
  async #ofHeld(range: Range, reading: Reading): Promise<Origin> {
    const { host, fills, closing } = this.#parts;
    const { object } = range;
    // If a copy is served already, the read path could not serve it.
    const isNew = host.namespace.levelOf(object.id) === host.tiers.length;
    const look = (isInTurn: boolean) => this.#usable(object, isNew, isInTurn);
    const found = await turnOrCopy(fills, object, look, closing, reading.signal);
    if ('copy' in found) return this.#ofCopy(found.copy, range);
    // A fill that begins here waits for its caller: see `callerHasFill`.
    return await this.#beyondCopies(range, reading, found.turn);
  }

  /** The origin of a range that a copy serves, as far as the copy reaches. */
  #ofCopy(reader: VerifiedReader, range: Range): Origin {
    const held = reader.copy.bytes - range.offset;
    const rest = this.#behind(range, Math.max(0, held));
    if (held <= 0) return rest;
    return new CopyOrigin(this.#parts, reader, range, rest, (again) => this.#beyondCopies(range, again));
  }

  /** Whether a tier has a copy of an object, or may have one and should be looked up. Costs no promise. */
  #mayBeHeld(id: number): boolean {
    const { copies, fills } = this.#parts;
    return fills.of(id) === undefined && copies.mayBeHeld(id);
  }

  /**
   * The copy to read here, if there is one and its tier is in service.
   * @param isNew Whether the copy may also be one that the read path could serve by now.
   */
  async #usable(object: ObjectRef, isNew: boolean, isInTurn: boolean): Promise<VerifiedReader | undefined> {
    const { copies, closing } = this.#parts;
    const reader = () => (isNew ? copies.servedBy(object) : copies.readerFor(object));
    const copy = (await copies.isHeld(object, isInTurn)) ? await reader() : undefined;
    closing.throwIfAborted();
    return copy?.tier.reading.inService === true ? copy : undefined;
  }

  /** Finds the origin of a range that no copy serves. */
  #beyondCopies(range: Range, reading: Reading, turn?: FetchTurn): Origin | Promise<Origin> {
    const fill = this.#fillFor(range, reading, turn);
    if (fill === 'behind') return this.#fillLater(range, reading);
    return fill instanceof OtherFetch ? this.#ofHeld(range, reading) : this.#around(fill, range);
  }

  /**
   * The origin of a range that a fill serves as far as its copy reaches. `fill` is undefined if there is
   * none.
   */
  #around(fill: ObjectFill | undefined, range: Range): Origin {
    if (fill === undefined) return this.#behind(range, 0);
    const held = fill.bytes - range.offset;
    if (held >= range.length) return new FillOrigin(fill, range);
    return new SplicedOrigin(fill, range, this.#behind(range, held));
  }

  /** The source's part of a range whose first bytes come from elsewhere. */
  #behind({ object, offset, length }: Range, held: number): SourceOrigin {
    const rest = { object, offset: offset + held, length: Math.max(0, length - held) };
    return new SourceOrigin(this.#parts.ranges, rest);
  }

  /**
   * As `#fillFor`, after it has found the tiers behind. Waits for a pending request for room, which takes
   * milliseconds, and again if others were granted that room. Without the wait the object would be fetched
   * once for its reader and once more for the tier.
   */
  async #fillLater(range: Range, reading: Reading): Promise<Origin> {
    const { copies, fills, closing, readersWait } = this.#parts;
    for (let asks = 0; asks < MOST_ASKS; asks++) {
      const { asked } = copies.stores;
      if (asked === undefined || !readersWait) break;
      await raceAbort(asked, reading.signal);
      closing.throwIfAborted();
      const fill = this.#fillFor(range, reading);
      if (fill instanceof OtherFetch) return this.#ofHeld(range, reading);
      if (fill !== 'behind') return this.#around(fill, range);
    }
    fills.counts.behind += 1;
    fills.leaveBehind(range.object.id);
    return this.#around(undefined, range);
  }

  /**
   * The fill that serves a range as far as its copy reaches. If none is in progress, one begins, provided
   * that a level takes the object and the tiers are not behind.
   */
  #fillFor(
    { object, offset, length }: Range,
    { by }: Reading,
    turn?: FetchTurn,
  ): ObjectFill | OtherFetch | 'behind' | undefined {
    const { host, fills } = this.#parts;
    const known = fills.of(object.id);
    if (known !== undefined) turn?.end();
    const running = known ?? fills.start(object, turn);
    if (running === undefined || running === 'behind' || running instanceof OtherFetch) return running;
    const { fill } = running;
    const held = Math.min(length, fill.bytes - offset);
    if (held <= 0 || !isCurrent(host, fill.object) || !fill.serves(offset, held)) return undefined;
    by[known === undefined ? 'own' : 'joined'] = true;
    return fill;
  }
}
