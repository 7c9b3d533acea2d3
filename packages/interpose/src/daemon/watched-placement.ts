import type { DropReason, OperationOptions, ReadOutcome, StorageDriver, Tier } from '@tiered/core';
import type {
  CopyPlace,
  ObjectRef,
  Placement,
  PlacementHost,
  PlacementRead,
  PlacementStats,
  TracedOptions,
} from '@tiered/core/placement';
import type { Place } from '../table/layout.js';
import { placeForPrograms } from './published-table.js';

/** Told of every change of where an object is read. The place is undefined for the source. */
export type PlaceWatcher = (id: number, place: CopyPlace | undefined) => void;

/** A placement that does what another one does, and tells somebody where objects are read from now on. */
export class WatchedPlacement implements Placement {
  readonly #placement: Placement;
  readonly #watcher: PlaceWatcher;
  #host: PlacementHost | undefined;

  /** @param watcher Told after reads go to a copy, and before a copy that they left is deleted. */
  constructor(placement: Placement, watcher: PlaceWatcher) {
    this.#placement = placement;
    this.#watcher = watcher;
  }

  /** Where programs read an object whose whole, trusted copy is on this level; undefined for the source. */
  placeOf(id: number, level: number): Place | undefined {
    return placeForPrograms({ level, direct: true, tag: this.#host?.tagOf(id) });
  }

  get seesHits(): boolean {
    return this.#placement.seesHits;
  }

  assertTiers(tiers: readonly Tier[]): void {
    this.#placement.assertTiers(tiers);
  }

  open(host: PlacementHost, options: OperationOptions): Promise<void> {
    this.#host = host;
    return this.#placement.open(new WatchedHost(host, this.#watcher), options);
  }

  lost(object: ObjectRef, level: number, reason: DropReason): void {
    this.#watcher(object.id, undefined);
    this.#placement.lost(object, level, reason);
  }

  read(object: ObjectRef, offset: number, length: number, options: TracedOptions): Promise<Uint8Array> {
    return this.#placement.read(object, offset, length, options);
  }

  readInto(object: ObjectRef, offset: number, target: Uint8Array, options: TracedOptions): Promise<void> {
    return this.#placement.readInto(object, offset, target, options);
  }

  readMany(reads: readonly PlacementRead[], options: TracedOptions): Promise<readonly ReadOutcome[]> {
    return this.#placement.readMany(reads, options);
  }

  place(object: ObjectRef, options: OperationOptions): Promise<number> {
    return this.#placement.place(object, options);
  }

  hit(id: number, level: number): void {
    this.#placement.hit(id, level);
  }

  idle(options: OperationOptions): Promise<void> {
    return this.#placement.idle(options);
  }

  stats(): PlacementStats {
    return this.#placement.stats();
  }

  close(): Promise<void> {
    return this.#placement.close();
  }
}

/** What the hierarchy lends, with what the placement says of places told to the watcher too. */
class WatchedHost implements PlacementHost {
  readonly #host: PlacementHost;
  readonly #watcher: PlaceWatcher;

  constructor(host: PlacementHost, watcher: PlaceWatcher) {
    this.#host = host;
    this.#watcher = watcher;
  }

  get name(): string {
    return this.#host.name;
  }

  get namespace(): PlacementHost['namespace'] {
    return this.#host.namespace;
  }

  get complete(): boolean {
    return this.#host.complete;
  }

  get tiers(): readonly Tier[] {
    return this.#host.tiers;
  }

  get source(): StorageDriver {
    return this.#host.source;
  }

  get versions(): PlacementHost['versions'] {
    return this.#host.versions;
  }

  get clock(): PlacementHost['clock'] {
    return this.#host.clock;
  }

  openTier(tier: Tier, options: OperationOptions): Promise<void> {
    return this.#host.openTier(tier, options);
  }

  versionToAskFor(version: string): string | undefined {
    return this.#host.versionToAskFor(version);
  }

  publish(id: number, place: CopyPlace): void {
    this.#host.publish(id, place);
    this.#watcher(id, place);
  }

  tagOf(id: number): number | undefined {
    return this.#host.tagOf(id);
  }

  withdraw(id: number): void {
    this.#host.withdraw(id);
    this.#watcher(id, undefined);
  }

  placed(object: ObjectRef, level: number, bytes: number): void {
    this.#host.placed(object, level, bytes);
  }

  dropped(key: string, level: number, reason: DropReason): void {
    this.#host.dropped(key, level, reason);
  }

  placementFailed(object: ObjectRef, level: number, error: unknown): void {
    this.#host.placementFailed(object, level, error);
  }

  tierFault(...fault: Parameters<PlacementHost['tierFault']>): void {
    this.#host.tierFault(...fault);
  }

  tierWorked(...work: Parameters<PlacementHost['tierWorked']>): void {
    this.#host.tierWorked(...work);
  }

  tierServed(tier: Tier, bytes: number): void {
    this.#host.tierServed(tier, bytes);
  }

  sourceReplaced(tier: Tier): void {
    this.#host.sourceReplaced(tier);
  }

  tierShrunk(tier: Tier, quotaBytes: number): void {
    this.#host.tierShrunk(tier, quotaBytes);
  }
}
