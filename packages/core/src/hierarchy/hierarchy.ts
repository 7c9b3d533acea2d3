import { OperationScope } from '../support/abort.js';
import type {
  ListOptions,
  ObjectStat,
  OperationOptions,
  ReadOutcome,
  StorageDriver,
} from '../driver/driver.js';
import { closedError, TieredError } from '../support/errors.js';
import { Catalog } from './catalog.js';
import { SafeEmitter, type HierarchyEvents } from './events.js';
import { checkedOptions, type CheckedHierarchyOptions, type HierarchyOptions } from './options.js';
import { KeptManifest } from '../namespace/kept-manifest.js';
import { ABSENT, MetadataContainer, type Namespace } from '../namespace/metadata-container.js';
import { ObjectHandle, traced, type BoundReads } from './object-handle.js';
import { listed } from '../namespace/listing.js';
import { closeFor, openFor } from '../driver/open-drivers.js';
import { openAtStart } from '../tier/open-tier.js';
import { PlaceChoice, type FetchModel } from '../read/place-choice.js';
import type { CopyPlace, LevelHold, Placement, PlacementHost } from '../placement/placement.js';
import type {
  HierarchyReadIntoOptions,
  HierarchyReadOptions,
  HierarchyReadRequest,
} from '../read/options.js';
import type { ReadPath } from '../read/read-path.js';
import { SourceOnly } from '../read/source-only.js';
import { serve, type Serving } from './serving.js';
import { snapshot, statsBetween, type HierarchyStats } from './stats.js';
import { Tier } from '../tier/tier.js';
import { readChannel } from '../tracing/channels.js';
import { ReadTracer } from '../tracing/read-tracer.js';
import type { TracedOptions } from '../tracing/operation.js';
import { DefaultEventLog } from './default-event-log.js';
import { isUsedBy, useOnce } from './used-once.js';

type State = 'new' | 'starting' | 'open' | 'closing' | 'closed';

const NO_OPTIONS = Object.freeze({});

/**
 * Reads objects from the fastest level that has them, and keeps the copies that the placement decides to keep
 * (MONARCH, CCGrid'22, section III). It is the one object that a loader holds.
 *
 * The namespace names the tier that serves a read. If the tier fails, or returns fewer bytes than it must,
 * the source serves the read, and the fault is counted and announced. After repeated faults the tier is
 * skipped for a while. State, keys, ranges and capabilities are checked here, once, and not in the drivers.
 *
 * The bytes that `read` resolves to may be a view of a tier's memory, so do not write to them. `readInto`
 * gives you bytes of your own.
 */
export class Hierarchy extends SafeEmitter<HierarchyEvents> implements AsyncDisposable {
  /** The name of this hierarchy in traces and metrics, see `HierarchyOptions.name`. */
  readonly name: string;
  /** The name and location of its source. */
  readonly source: Pick<StorageDriver, 'name' | 'location'>;
  #namespace: MetadataContainer;
  readonly #manifest: KeptManifest | undefined;
  readonly #tiers: readonly Tier[];
  readonly #placement: Placement;
  readonly #options: CheckedHierarchyOptions;
  #path: ReadPath;
  #host: PlacementHost;
  readonly #scope = new OperationScope();
  readonly #catalog: Catalog;
  readonly #tracer: ReadTracer;
  #state: State = 'new';
  #starting: Promise<unknown> = Promise.resolve();
  #closed: Promise<void> | undefined;

  /** @throws TieredError `TIERED_CONFIG_INVALID` for options that cannot work. The message names them. */
  constructor(options: HierarchyOptions) {
    super();
    this.#options = checkedOptions(options);
    const { source, tiers, placement, clock, manifest, warn, metadata, versions } = this.#options;
    this.name = this.#options.name;
    this.source = source;
    this.#tiers = tiers.map((tier, level) => new Tier(level, tier, clock));
    this.#tracer = new ReadTracer(this.name, [...tiers.map(({ driver }) => driver), source]);
    const unheard = new DefaultEventLog(this, this.#tiers, clock, warn);
    this.unheard = (event, payload) => unheard.tell(event, payload);
    this.#placement = placement ?? new SourceOnly();
    this.#placement.assertTiers(this.#tiers);
    this.#manifest = manifest === undefined ? undefined : new KeptManifest(manifest, source, this);
    this.#namespace = metadata ?? new MetadataContainer(tiers.length);
    this.#catalog = new Catalog({
      source,
      versions,
      scope: this.#scope,
      clock,
      namespace: () => this.#namespace,
      outdated: (id) => this.#path.drop(id, 'outdated'),
      leftOut: (left) => this.emit('leftOut', left),
      assertUsable: (signal) => this.#assertUsable(signal),
    });
    ({ path: this.#path, host: this.#host } = this.#serve(this.#namespace));
  }

  #serve(namespace: MetadataContainer): Serving {
    const { versions, clock, scan, model } = this.#options;
    return serve(namespace, {
      name: this.name,
      tiers: this.#tiers,
      source: this.#options.source,
      placement: this.#placement,
      events: this,
      versions,
      clock,
      complete: scan,
      choice: model && new PlaceChoice(model, this.#tiers.length),
      renew: (key) => this.#catalog.renew(key),
      readInto: (key, target, options) => this.#readInto(key, target, options),
    });
  }

  /** The measurements of its storage, if they were given. */
  get model(): FetchModel | undefined {
    return this.#options.model;
  }

  /** Its tiers, fastest first. */
  get tiers(): readonly Pick<Tier, 'level' | 'driver' | 'quotaBytes' | 'layout'>[] {
    return this.#tiers;
  }

  /** Whether `open` lists the source, so that every object is known. Set by the option `scan`. */
  get isScanned(): boolean {
    return this.#options.scan;
  }

  /** Every known object and its level. */
  get namespace(): Namespace {
    return this.#namespace;
  }

  /**
   * Returns the place that reads of an object go to: its copy, or undefined for the source. The event `moved`
   * reports changes.
   * @param id Its id in the namespace.
   */
  placeOf(id: number): CopyPlace | undefined {
    return this.#path.placeOf(id);
  }

  /**
   * Returns the bytes that this hierarchy holds on a tier, and a way to bound them, for tiers that several
   * hierarchies fill. Counts copies placed from the first call on, in some 40 bytes of memory per copy.
   * Undefined if the placement supports no bound.
   * @param level The tier, 0 is the fastest.
   */
  holdOf(level: number): LevelHold | undefined {
    return this.#placement.hold?.(level);
  }

  /** The most reads of the source that actually run at the same time. Undefined if there is no such limit. */
  get readsAtOnce(): number | undefined {
    return this.#options.source.capabilities.readsAtOnce;
  }

  /**
   * Opens every driver, and lists the source unless a manifest has it or `scan` is false; the event `scan`
   * reports progress. Resolves to this hierarchy, so that `await using h = await new Hierarchy({...}).open()`
   * works. If it fails or is aborted, everything that it opened is closed again, and the hierarchy stays
   * closed.
   */
  async open(options: OperationOptions = NO_OPTIONS): Promise<this> {
    if (this.#state !== 'new') {
      if (this.#state === 'closing' || this.#state === 'closed') throw closedError();
      throw new TieredError(
        'TIERED_ALREADY_OPEN',
        'open() was called twice; call it once and share the hierarchy.',
      );
    }
    this.#state = 'starting';
    const starting = this.#scope.run(options.signal, (signal) => this.#open(signal));
    this.#starting = starting.catch(() => undefined);
    try {
      await starting;
    } catch (error) {
      // The error of the start says more than an error of the clean-up.
      await this.close().catch(() => undefined);
      throw error;
    }
    return this;
  }

  async #open(signal: AbortSignal): Promise<void> {
    useOnce(this.#placement, this, { field: 'placement', made: 'PlacementHandler' });
    useOnce(this.#namespace, this, { field: 'metadata', made: 'MetadataContainer' });
    await openFor(this, this.#options.source, { signal });
    for (const tier of this.#tiers) await openAtStart(tier, signal, this.#host);
    if (this.#options.scan) await this.#knowSource(signal);
    await this.#placement.open(this.#host, { signal });
    signal.throwIfAborted();
    this.#state = 'open';
  }

  /**
   * Fills the namespace with every object of the source, from the manifest if there is one, else from a
   * listing.
   */
  async #knowSource(signal: AbortSignal): Promise<void> {
    const saved = await this.#manifest?.load(this.#tiers.length, signal);
    if (saved !== undefined) {
      this.#namespace = saved;
      ({ path: this.#path, host: this.#host } = this.#serve(saved));
      this.emit('scan', { objects: saved.known, bytes: saved.bytes });
      return;
    }
    const list = (listing: ListOptions) => this.#options.source.list({ ...listing, signal });
    const pages = this.#catalog.takeIn(list, '', () => signal.throwIfAborted());
    for await (const { length } of pages)
      if (length > 0) this.emit('scan', { objects: this.#namespace.known, bytes: this.#namespace.bytes });
    await this.#manifest?.save(this.#namespace, signal);
  }

  /**
   * Reads an object, or a range of it.
   * @param key The object.
   * @throws TieredError `TIERED_NOT_FOUND`, `TIERED_KEY_INVALID`, `TIERED_RANGE_INVALID`, `TIERED_NOT_OPEN`,
   * `TIERED_CLOSED`, `TIERED_SOURCE_CHANGED`, `TIERED_TOO_LARGE` if there is no memory for the bytes, or the
   * error of the source. An abort rejects with `signal.reason`. Work that other callers wait for continues.
   */
  read(key: string, options: HierarchyReadOptions = NO_OPTIONS): Promise<Uint8Array> {
    if (!readChannel.hasSubscribers) return this.#read(key, options);
    return this.#tracer.read('read', key, options, (traced) => this.#read(key, traced));
  }

  async #read(key: string, options: HierarchyReadOptions & TracedOptions): Promise<Uint8Array> {
    this.#assertUsable(options.signal);
    const known = this.#namespace.find(key);
    return this.#path.read(
      known === ABSENT ? await this.#catalog.lookUp(key, options.signal) : known,
      key,
      options,
    );
  }

  /**
   * Reads as much as fits into memory of the caller, and resolves to the number of bytes.
   * @param key The object.
   * @param target The memory for the bytes. Not touched after the call has settled. Memory behind the bytes
   * is unchanged, or zeros if the object used to be longer.
   * @throws As `read` does. The content of the target is undefined then.
   */
  readInto(key: string, target: Uint8Array, options: HierarchyReadIntoOptions = NO_OPTIONS): Promise<number> {
    if (!readChannel.hasSubscribers) return this.#readInto(key, target, options);
    return this.#tracer.read('readInto', key, options, (traced) => this.#readInto(key, target, traced));
  }

  async #readInto(
    key: string,
    target: Uint8Array,
    options: HierarchyReadIntoOptions & TracedOptions,
  ): Promise<number> {
    this.#assertUsable(options.signal);
    const known = this.#namespace.find(key);
    return this.#path.readInto(
      known === ABSENT ? await this.#catalog.lookUp(key, options.signal) : known,
      key,
      target,
      options,
    );
  }

  /**
   * Reads many objects, or ranges of them, into memory of the caller. A batch costs less than single reads,
   * each with its own promise. It is fastest with targets on one `SharedArrayBuffer`, which threads of a
   * driver may fill.
   * @param requests The reads, ideally some dozens. They are all in flight at once.
   * @returns The outcome of each read, in the order of the requests: the number of bytes that `readInto`
   * would have resolved to, or the error that it would have rejected with. A failed read does not affect the
   * others.
   * @throws TieredError `TIERED_NOT_OPEN`, `TIERED_CLOSED`. An abort rejects with `signal.reason` once no
   * target is written to any more. The content of the targets is undefined then.
   */
  readMany(
    requests: readonly HierarchyReadRequest[],
    options: OperationOptions = NO_OPTIONS,
  ): Promise<readonly ReadOutcome[]> {
    if (!readChannel.hasSubscribers) return this.#readMany(requests, options);
    return this.#tracer.readMany(requests.length, options, (traced) => this.#readMany(requests, traced));
  }

  async #readMany(
    requests: readonly HierarchyReadRequest[],
    options: TracedOptions,
  ): Promise<readonly ReadOutcome[]> {
    this.#assertUsable(options.signal);
    const outcomes = await this.#path.readMany(requests, options);
    if (!outcomes.some((outcome) => 'error' in outcome)) return outcomes;
    // An abort or a close ends the whole batch, not only some reads.
    options.signal?.throwIfAborted();
    this.#assertUsable(undefined);
    return outcomes;
  }

  /**
   * Returns a handle on an object, for many reads. It looks the key up once. Its reads move to a faster tier
   * by themselves once the object is placed there.
   * @throws As `read` does.
   */
  async handle(key: string, options: OperationOptions = NO_OPTIONS): Promise<ObjectHandle> {
    this.#assertUsable(options.signal);
    const id = await this.#catalog.lookUp(key, options.signal);
    const reads: BoundReads = {
      read: async (range) => {
        this.#assertUsable(range.signal);
        return this.#path.read(id, key, range);
      },
      readInto: async (target, range) => {
        this.#assertUsable(range.signal);
        return this.#path.readInto(id, key, target, range);
      },
    };
    return new ObjectHandle(key, this.#namespace.sizeOf(id), traced(this.#tracer, key, reads));
  }

  /**
   * Describes an object, from the namespace if it is known, else from the source.
   * @throws As `read` does.
   */
  async stat(
    key: string,
    options: OperationOptions = NO_OPTIONS,
  ): Promise<ObjectStat & { readonly level: number }> {
    this.#assertUsable(options.signal);
    return this.#namespace.describe(await this.#catalog.lookUp(key, options.signal));
  }

  /**
   * Asks the source for an object, known or not, and updates the namespace from the answer, if the `versions`
   * policy allows it. The description is then as new as this call. A copy of another version is dropped.
   * Costs the source one `stat`; concurrent calls for the same key do not share it.
   * @throws As `stat` does. `TIERED_NOT_FOUND` removes the object, as a `rescan` does. With
   * `versions: 'pin'`, a known object is described as it is known.
   */
  async revalidate(
    key: string,
    options: OperationOptions = NO_OPTIONS,
  ): Promise<ObjectStat & { readonly level: number }> {
    this.#assertUsable(options.signal);
    return this.#catalog.revalidate(key, options.signal);
  }

  /**
   * Enumerates objects in pages, from the namespace if the source was scanned at start, else from the source.
   * @throws TieredError `TIERED_UNSUPPORTED` if neither is possible.
   */
  async *list(options: ListOptions = NO_OPTIONS): AsyncGenerator<readonly ObjectStat[], void, undefined> {
    this.#assertUsable(options.signal);
    if (!this.#options.scan) return yield* this.#catalog.list(options);
    for await (const page of listed(this.#namespace, this.#options.clock, options.prefix)) {
      this.#assertUsable(options.signal);
      if (page.length > 0) yield page;
    }
  }

  /**
   * Places an object on a tier now, ahead of any read, and resolves to its level afterwards. This is the
   * source's level (the number of tiers) if no tier admits the object, or if fetching it failed (event
   * `placementFailed`).
   * @throws As `read` does. An abort only ends the waiting; the fill continues.
   */
  async place(key: string, options: OperationOptions = NO_OPTIONS): Promise<number> {
    this.#assertUsable(options.signal);
    const id = await this.#catalog.lookUp(key, options.signal);
    const level = this.#namespace.levelOf(id);
    return level < this.#tiers.length ? level : this.#placement.place(this.#namespace.objectOf(id), options);
  }

  /**
   * Lists the source again, updates the namespace, if the `versions` policy allows it, and saves the
   * manifest. Use it between two epochs if the dataset changes. The event `scan` reports progress.
   *
   * An object that the complete listing did not show is removed: it is no longer listed, and a read of it
   * asks the source. Its copy is deleted. With `versions: 'pin'`, or if the source shows no object at all, as
   * an unmounted directory does, everything stays known.
   *
   * With a `prefix`, only keys that begin with it are listed. The other objects stay as they are known, and
   * the manifest as it was saved. Costs a look at each known object (60 ms for a million) besides the
   * listing.
   * @throws TieredError `TIERED_UNSUPPORTED` if the source cannot list. An abort keeps the updates made until
   * then.
   */
  async rescan(options: Pick<ListOptions, 'prefix' | 'signal'> = NO_OPTIONS): Promise<void> {
    this.#assertUsable(options.signal);
    let [objects, bytes] = [0, 0];
    for await (const page of this.#catalog.list(options)) {
      objects += page.length;
      for (const { size } of page) bytes += size;
      this.emit('scan', { objects, bytes });
    }
    const { prefix = '', signal } = options;
    if (prefix !== '') return;
    await this.#scope.run(signal, async (under) => this.#manifest?.save(this.#namespace, under));
  }

  /** Resolves when no object is being placed. */
  async idle(options: OperationOptions = NO_OPTIONS): Promise<void> {
    this.#assertUsable(options.signal);
    await this.#placement.idle(options);
  }

  /**
   * Returns a snapshot of the reads by level, and of the work in flight. Cheap; take it as often as you like.
   * @param since An earlier snapshot of this hierarchy. Counts then begin at that snapshot, for example to
   * cover one epoch, as in `statsBetween`.
   */
  stats(since?: HierarchyStats): HierarchyStats {
    const { source } = this.#options;
    const now = snapshot(this.#tiers, source, this.#namespace, this.#placement.stats(), this.#path);
    return since === undefined ? now : statsBetween(since, now);
  }

  /**
   * Ends all work. Reads that wait for the source reject with `TIERED_CLOSED`, fills are aborted without a
   * trace, and drivers are closed once they are unused. Idempotent. May also be called during `open`.
   */
  close(): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  /** Calls `close`, at the end of an `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#state = 'closing';
    const reason = closedError();
    await this.#scope.close(reason);
    await this.#starting;
    const placementClosed = isUsedBy(this.#placement, this) ? this.#placement.close() : Promise.resolve();
    await this.#path.close(reason);
    // The placement may still wait for a read that a tier has not ended.
    if (this.#tiers.every((tier) => tier.isDone)) await placementClosed;
    else placementClosed.catch(() => undefined);
    const closings = [...this.#tiers.map((tier) => tier.close()), closeFor(this, this.#options.source)];
    const results = await Promise.allSettled(closings);
    this.#state = 'closed';
    this.emit('closed');
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
  }

  #assertUsable(signal: AbortSignal | undefined): void {
    if (this.#state === 'open') return signal?.throwIfAborted();
    if (this.#state === 'closing' || this.#state === 'closed') throw closedError();
    throw new TieredError('TIERED_NOT_OPEN', 'The hierarchy is not ready; await open() first.');
  }
}
