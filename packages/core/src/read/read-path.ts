import { raceAbort } from '../support/abort.js';
import { BatchPath, nothingBehind } from './batch-path.js';
import type { CopyPlaces } from '../tier/copy-places.js';
import { offsetInFile } from '../tier/packed-tag.js';
import { clampLength } from '../hierarchy/validation.js';
import type { Operation, OperationOptions, ReadOutcome, StorageDriver } from '../driver/driver.js';
import { versionChanged } from '../driver/helpers.js';
import { isTieredError, TieredError } from '../support/errors.js';
import type { MetadataContainer } from '../namespace/metadata-container.js';
import type { PlaceChoice } from './place-choice.js';
import type { ObjectRef } from '../namespace/object-ref.js';
import type { CopyPlace, DropReason, Placement, VersionPolicy } from '../placement/placement.js';
import type { AskedVersions } from './asked-versions.js';
import type { HierarchyReadIntoOptions, HierarchyReadOptions, HierarchyReadRequest } from './options.js';
import type { Tier } from '../tier/tier.js';
import type { TierTally } from '../tier/tier-tally.js';
import type { OnServed, TracedOptions } from '../tracing/operation.js';

/** The dependencies of the read path. */
export interface ReadPathParts {
  readonly namespace: MetadataContainer;
  readonly tiers: readonly Tier[];
  readonly source: StorageDriver;
  readonly placement: Placement;
  /** The places of copies. */
  readonly places: CopyPlaces;
  readonly tally: TierTally;
  readonly versions: VersionPolicy;
  readonly asked: AskedVersions;
  /** Chooses between a copy and the source. Undefined: always the copy. */
  readonly choice: PlaceChoice | undefined;
  /** Asks the source again for size and version of an object. Returns false if it did not answer. */
  readonly renew: (key: string) => Promise<boolean>;
  /** Reads by key, for objects that may not be known yet. */
  readonly readInto: (
    key: string,
    target: Uint8Array,
    options: HierarchyReadIntoOptions & TracedOptions,
  ) => Promise<number>;
}

/** Tries of a read that meets a changed object. A constantly changing object must not hold a read forever. */
const TRIES = 3;

/** Distinguishes a copy from all others; see `CopyPlaces`. */
type Tag = number | undefined;

/**
 * Serves reads, and handles the faults of tiers.
 *
 * A read asks the one tier that the namespace names, if that tier is in service. If the tier returns anything
 * but exactly the requested bytes, the read goes on to the placement, which has the source. So a tier can
 * never fail a read that the source can serve. A copy that is missing or too short is dropped from the
 * namespace before the next read. The placement reads copies that are partial, or not trusted yet.
 *
 * `read` and `readInto` are alike, but written out separately. One function for both, with the differences
 * passed in, reached a third of the reads per second from a RAM tier (`npm run bench -- hit-path`).
 */
export class ReadPath {
  readonly #parts: ReadPathParts;
  readonly #namespace: MetadataContainer;
  readonly #tiers: readonly Tier[];
  readonly #placement: Placement;
  readonly #batches: BatchPath;
  readonly #choice: PlaceChoice | undefined;
  readonly #tally: TierTally;
  readonly #places: CopyPlaces;
  readonly #closing = new AbortController();
  #active = 0;
  #served = 0;
  #empty = 0;
  #onDrained: (() => void) | undefined;

  constructor(parts: ReadPathParts) {
    this.#parts = parts;
    this.#namespace = parts.namespace;
    this.#tiers = parts.tiers;
    this.#placement = parts.placement;
    this.#choice = parts.choice;
    this.#tally = parts.tally;
    this.#places = parts.places;
    this.#batches = new BatchPath(parts, this);
  }

  /** Reads in flight. */
  get active(): number {
    return this.#active;
  }

  /** Reads that a tier served by itself, and reads of no bytes. */
  get counts(): { readonly served: number; readonly empty: number } {
    return { served: this.#served, empty: this.#empty };
  }

  async read(
    id: number,
    key: string,
    options: HierarchyReadOptions & TracedOptions,
    tries = TRIES,
  ): Promise<Uint8Array> {
    const { offset = 0, signal, onServed } = options;
    const size = this.#namespace.sizeOf(id);
    const length = clampLength(key, size, offset, options.length);
    // Allocated for this caller, who may transfer its memory without affecting other readers.
    if (length === 0) return this.#nothingOf(id, key, new Uint8Array(0), onServed);
    this.begin(1);
    const tier = this.tierOf(id);
    this.#choice?.began(tier);
    try {
      if (tier !== undefined && this.#choice?.prefersSource(tier, length) === true) {
        const bytes = await this.#sooner(tier, options, () =>
          this.#placement.read(this.#refOf(id, key), offset, length, options),
        );
        if (bytes !== undefined && size === this.#namespace.sizeOf(id)) return bytes;
      }
      if (tier !== undefined) {
        const tag = this.tagOf(id);
        try {
          const at = offsetInFile(tag) + offset;
          const bytes = await tier.read(this.fileOf(id, key, tag), { offset: at, length, signal });
          if (bytes.byteLength === length) {
            this.served(tier, id, length, onServed);
            return bytes;
          }
          this.#tierShort(tier, id, tag, 'read', bytes.byteLength, length);
        } catch (error) {
          signal?.throwIfAborted();
          this.tierFailed(tier, id, tag, 'read', error);
        }
        // The object has changed, so the range must be checked again.
        if (!this.isAt(tier, id, tag) && tries > 1) return await this.read(id, key, options, tries - 1);
      }
      const object = this.#refOf(id, key);
      let failure: unknown;
      try {
        const bytes = await this.#placement.read(object, offset, length, options);
        if (this.#namespace.sizeOf(id) === size) return bytes;
        failure = versionChanged(this.#parts.source, 'read', key);
      } catch (error) {
        failure = error;
      }
      await this.#lookAgain(object, failure, options, tries);
      return await this.read(id, key, options, tries - 1);
    } finally {
      this.#choice?.ended(tier);
      this.end(1);
    }
  }

  async readInto(
    id: number,
    key: string,
    target: Uint8Array,
    options: HierarchyReadIntoOptions & TracedOptions,
    tries = TRIES,
  ): Promise<number> {
    const { offset = 0, signal, onServed } = options;
    const size = this.#namespace.sizeOf(id);
    const length = clampLength(key, size, offset, target.byteLength);
    if (length === 0) return this.#nothingOf(id, key, 0, onServed);
    const range = target.subarray(0, length);
    this.begin(1);
    const tier = this.tierOf(id);
    this.#choice?.began(tier);
    try {
      if (tier !== undefined && this.#choice?.prefersSource(tier, length) === true) {
        const count = await this.#sooner(tier, options, () =>
          this.#placement.readInto(this.#refOf(id, key), offset, range, options).then(() => length),
        );
        if (count !== undefined && size === this.#namespace.sizeOf(id)) return count;
      }
      if (tier !== undefined) {
        const tag = this.tagOf(id);
        try {
          const at = offsetInFile(tag) + offset;
          const count = await tier.readInto(this.fileOf(id, key, tag), range, { offset: at, signal });
          if (count === length) {
            this.served(tier, id, length, onServed);
            return count;
          }
          this.#tierShort(tier, id, tag, 'readInto', count, length);
        } catch (error) {
          signal?.throwIfAborted();
          this.tierFailed(tier, id, tag, 'readInto', error);
        }
        if (!this.isAt(tier, id, tag) && tries > 1)
          return nothingBehind(target, await this.readInto(id, key, target, options, tries - 1), length);
      }
      const object = this.#refOf(id, key);
      let failure: unknown;
      try {
        await this.#placement.readInto(object, offset, range, options);
        // The object may have been listed again meanwhile. The range was then clamped to the end of another
        // version.
        if (this.#namespace.sizeOf(id) === size) return length;
        failure = versionChanged(this.#parts.source, 'read', key);
      } catch (error) {
        failure = error;
      }
      await this.#lookAgain(object, failure, options, tries);
      return nothingBehind(target, await this.readInto(id, key, target, options, tries - 1), length);
    } finally {
      this.#choice?.ended(tier);
      this.end(1);
    }
  }

  /** See `BatchPath`. */
  readMany(
    requests: readonly HierarchyReadRequest[],
    options: TracedOptions,
  ): Promise<readonly ReadOutcome[]> {
    return this.#batches.readMany(requests, options);
  }

  /**
   * Aborts every tier read, and waits until no read is in flight. The caller ensures that none begins. Does
   * not wait for a tier that holds its reads beyond its deadline.
   */
  async close(reason: Error): Promise<void> {
    this.#closing.abort(reason);
    await Promise.all(this.#tiers.map((tier) => tier.endReads(reason)));
    if (this.#active === 0 || !this.#tiers.every((tier) => tier.isDone)) return;
    await new Promise<void>((resolve) => {
      this.#onDrained = resolve;
    });
  }

  /** Drops the copy of an object, if there is one. The object is served from the source again. */
  drop(id: number, reason: DropReason): void {
    const level = this.#namespace.levelOf(id);
    if (level === this.#tiers.length) return;
    this.#places.withdraw(id);
    this.#placement.lost(this.#namespace.objectOf(id), level, reason);
  }

  /** Records that so many reads begin. The path is not closed before they `end`. */
  begin(reads: number): void {
    this.#active += reads;
  }

  end(reads: number): void {
    this.#active -= reads;
    if (this.#active === 0) this.#onDrained?.();
  }

  /** Returns the tier that serves all of an object by itself, if there is one in service. */
  tierOf(id: number): Tier | undefined {
    const tier = this.#tiers[this.#namespace.directLevelOf(id)];
    return tier?.reading.inService === true ? tier : undefined;
  }

  /** Reads the source in place of a copy; undefined if that failed, and the copy must be read after all. */
  async #sooner<T>(tier: Tier, { signal }: OperationOptions, read: () => Promise<T>): Promise<T | undefined> {
    this.#choice?.ended(tier);
    this.#choice?.began(undefined);
    try {
      return await read();
    } catch {
      signal?.throwIfAborted();
      this.#closing.signal.throwIfAborted();
      return undefined;
    } finally {
      this.#choice?.ended(undefined);
      this.#choice?.began(tier);
    }
  }

  /**
   * Renews an object whose read has failed, so that the read may be retried.
   * @param object The object as it was requested.
   * @throws The failure, unless the object turned out to have changed, and there are tries left.
   */
  async #lookAgain(
    { id, key, size, version }: ObjectRef,
    failure: unknown,
    options: OperationOptions,
    tries: number,
  ): Promise<void> {
    const { versions, renew, asked } = this.#parts;
    if (!isTieredError(failure, 'TIERED_SOURCE_CHANGED') || versions === 'pin') throw failure;
    const askedVersion = asked.toAskFor(version);
    const isKnown = await raceAbort(renew(key), options.signal);
    const isAsBefore = tries <= 1 || this.#namespace.versionOf(id) === askedVersion;
    // An object with another size has changed, however often that happens. It says nothing about the source's
    // versions.
    if (versions === 'ignore' && isKnown && isAsBefore && this.#namespace.sizeOf(id) === size) {
      // The source contradicts itself. Its versions do not matter, and must not fail a read.
      asked.distrust();
      if (askedVersion !== undefined) return;
    }
    if (tries <= 1) throw failure;
  }

  /**
   * Returns the tag that distinguishes the served copy of an object from any other; undefined if the key
   * alone does.
   */
  tagOf(id: number): number | undefined {
    return this.#places.tagOf(id);
  }

  /** Returns the file on its tier that contains an object's copy. */
  fileOf(id: number, key: string, tag: Tag): string {
    return this.#places.fileOf(id, key, tag);
  }

  /** Returns the object as it is known now, for comparison with its state when the range was clamped. */
  #refOf(id: number, key: string): ObjectRef {
    return { id, key, size: this.#namespace.sizeOf(id), version: this.#namespace.versionOf(id) };
  }

  /**
   * As `countEmpty`.
   * @throws TieredError `TIERED_NOT_FOUND` if there are no bytes because the object is gone.
   */
  #nothingOf<T>(id: number, key: string, nothing: T, onServed: OnServed | undefined): T {
    if (!this.#namespace.isKnown(id)) throw gone(this.#parts.source, key);
    return this.countEmpty(nothing, onServed);
  }

  /** Counts a read of no bytes, and returns its result. */
  countEmpty<T>(nothing: T, onServed: OnServed | undefined): T {
    this.#empty += 1;
    onServed?.('empty');
    return nothing;
  }

  /** Records that a tier served a read of an object. */
  served(tier: Tier, id: number, length: number, onServed: OnServed | undefined): void {
    this.#served += 1;
    onServed?.('fromTiers', tier.level);
    this.#tally.served(tier, length);
    if (this.#placement.seesHits) this.#placement.hit(id, tier.level);
  }

  /** The place of the served copy of an object; undefined for the source. */
  placeOf(id: number): CopyPlace | undefined {
    return this.#places.placeOf(id);
  }

  /** Whether this is still the served copy. */
  isAt({ level }: Tier, id: number, tag: Tag): boolean {
    return this.#places.isAt(level, id, tag);
  }

  #tierShort(tier: Tier, id: number, tag: Tag, operation: Operation, got: number, wanted: number): void {
    // A copy that was withdrawn during the read may end anywhere.
    if (!this.isAt(tier, id, tag)) return;
    const key = this.#namespace.keyOf(id);
    const driver = tier.driver.name;
    const message = `${driver}: ${JSON.stringify(key)} gave ${got} of ${wanted} bytes; the copy is dropped.`;
    const error = new TieredError('TIERED_DATA_CORRUPT', message, { driver, operation, key });
    this.#tally.fault(tier, operation, key, error);
    this.drop(id, 'damaged');
  }

  /** Records that a tier failed a read of an object. */
  tierFailed(tier: Tier, id: number, tag: Tag, operation: Operation, error: unknown): void {
    // The source has no memory for the bytes either, and reports that.
    if (this.#closing.signal.aborted || isTieredError(error, 'TIERED_TOO_LARGE')) return;
    // A copy that was moved during the read is not a fault of the tier.
    if (!this.isAt(tier, id, tag)) return;
    this.#tally.fault(tier, operation, this.#namespace.keyOf(id), error);
    if (isTieredError(error, 'TIERED_NOT_FOUND')) this.drop(id, 'missing');
  }
}

/** Makes the error of an object that a listing of the source no longer shows. */
function gone({ name }: StorageDriver, key: string): TieredError {
  return new TieredError(
    'TIERED_NOT_FOUND',
    `${name}: ${JSON.stringify(key)} is gone, as the last listing says; read it by its key to have it looked for again.`,
    { driver: name, operation: 'read', key },
  );
}
