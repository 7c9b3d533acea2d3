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

/** A read asks for room this many times at most, and then goes on without it. */
const MOST_ASKS = 16;

/** What is asked where an object is. */
export interface OriginsParts extends CopyOriginParts {
  readonly ranges: RangeReads;
  /** Whether readers wait where tiers are behind. */
  readonly readersWait: boolean;
}

/**
 * Decides where a range comes from: a copy that is still to be checked, or that holds only the beginning of
 * the object; else a fill that is under way; else a fill that begins now; else the source.
 */
export class Origins {
  readonly #parts: OriginsParts;

  constructor(parts: OriginsParts) {
    this.#parts = parts;
  }

  /** Where a range is. May begin a fill. An abort lets go at once. */
  of(range: Range, reading: Reading): Origin | Promise<Origin> {
    if (this.#mayBeHeld(range.object.id)) return this.#ofHeld(range, reading);
    return this.#beyondCopies(range, reading);
  }

  /** Where a range is of which a tier may have a copy. */
  async #ofHeld(range: Range, reading: Reading): Promise<Origin> {
    const { fills, closing } = this.#parts;
    const { object } = range;
    const look = (hasWaited: boolean) => this.#usable(object, hasWaited);
    const found = await turnOrCopy(fills, object, look, closing, reading.signal);
    if ('copy' in found) return this.#ofCopy(found.copy, range);
    // A fill that begins here waits for its caller: see `callerHasFill`.
    return await this.#beyondCopies(range, reading, found.turn);
  }

  /** Where a range is that a copy serves, as far as it reaches. */
  #ofCopy(reader: VerifiedReader, range: Range): Origin {
    const held = reader.copy.bytes - range.offset;
    const rest = this.#behind(range, Math.max(0, held));
    if (held <= 0) return rest;
    return new CopyOrigin(this.#parts, reader, range, rest, (again) => this.#beyondCopies(range, again));
  }

  /** Whether a tier has a copy of an object, or may have one and should be asked. Costs no promise. */
  #mayBeHeld(id: number): boolean {
    const { copies, fills } = this.#parts;
    return fills.of(id) === undefined && copies.mayBeHeld(id);
  }

  /**
   * The copy to read here, if there is one and its tier is in service. After a wait also one that the read
   * path could serve by now.
   */
  async #usable(object: ObjectRef, hasWaited: boolean): Promise<VerifiedReader | undefined> {
    const { copies, closing } = this.#parts;
    const reader = () => (hasWaited ? copies.servedBy(object) : copies.readerFor(object));
    const copy = (await copies.isHeld(object)) ? await reader() : undefined;
    closing.throwIfAborted();
    return copy?.tier.reading.inService === true ? copy : undefined;
  }

  /** Where a range is that no copy serves. */
  #beyondCopies(range: Range, reading: Reading, turn?: FetchTurn): Origin | Promise<Origin> {
    const fill = this.#fillFor(range, reading, turn);
    if (fill === 'behind') return this.#fillLater(range, reading);
    return fill instanceof OtherFetch ? this.#ofHeld(range, reading) : this.#around(fill, range);
  }

  /** Where a range is of which a fill brings what its copy is to hold; undefined for no fill. */
  #around(fill: ObjectFill | undefined, range: Range): Origin {
    if (fill === undefined) return this.#behind(range, 0);
    const held = fill.bytes - range.offset;
    if (held >= range.length) return new FillOrigin(fill, range);
    return new SplicedOrigin(fill, range, this.#behind(range, held));
  }

  /** The source's part of a range, whose first bytes are elsewhere. */
  #behind({ object, offset, length }: Range, held: number): SourceOrigin {
    const rest = { object, offset: offset + held, length: Math.max(0, length - held) };
    return new SourceOrigin(this.#parts.ranges, rest);
  }

  /**
   * As `#fillFor`, after it has found the tiers behind: waits where a level is just being asked for room,
   * which takes milliseconds. Waits again if others were granted that room. Without the wait the object would
   * be fetched once for its reader and once more for the tier.
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
   * A fill that serves the part of a range that its copy is to hold. If none is under way, one begins,
   * provided that the object has a place and the tiers are not behind.
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
