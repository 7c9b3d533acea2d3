import type { Operation, OperationOptions, StorageDriver } from '../driver/driver.js';
import { assertApart, assertElsewhere, find } from '../driver/locations.js';
import type { MetadataContainer } from '../namespace/metadata-container.js';
import type { ObjectRef } from '../namespace/object-ref.js';
import type { CopyPlace, DropReason, PlacementHost, VersionPolicy } from '../placement/placement.js';
import type { AskedVersions } from '../read/asked-versions.js';
import type { Clock } from '../support/clock.js';
import type { CopyPlaces } from '../tier/copy-places.js';
import type { TierTally } from '../tier/tier-tally.js';
import { raceAbort } from '../support/abort.js';
import type { Tier, TierUse } from '../tier/tier.js';
import type { HierarchyEvents, SafeEmitter } from './events.js';

/** The parts of a hierarchy that its placement sees. */
export interface HierarchyPlacementHostParts {
  readonly name: string;
  readonly namespace: MetadataContainer;
  /** Whether the namespace holds every object of the source. */
  readonly complete: boolean;
  readonly tiers: readonly Tier[];
  readonly source: StorageDriver;
  readonly versions: VersionPolicy;
  readonly clock: Clock;
  readonly events: SafeEmitter<HierarchyEvents>;
  readonly places: CopyPlaces;
  readonly tally: TierTally;
  readonly asked: AskedVersions;
}

/** The view of a hierarchy that its placement gets: all that the placement may see and change. */
export class HierarchyPlacementHost implements PlacementHost {
  readonly name: string;
  readonly namespace: MetadataContainer;
  readonly complete: boolean;
  readonly tiers: readonly Tier[];
  readonly source: StorageDriver;
  readonly versions: VersionPolicy;
  readonly clock: Clock;
  readonly #events: SafeEmitter<HierarchyEvents>;
  readonly #places: CopyPlaces;
  readonly #tally: TierTally;
  readonly #asked: AskedVersions;

  constructor({
    name,
    namespace,
    complete,
    tiers,
    source,
    versions,
    clock,
    events,
    places,
    tally,
    asked,
  }: HierarchyPlacementHostParts) {
    this.name = name;
    this.namespace = namespace;
    this.complete = complete;
    this.tiers = tiers;
    this.source = source;
    this.versions = versions;
    this.clock = clock;
    this.#events = events;
    this.#places = places;
    this.#tally = tally;
    this.#asked = asked;
  }

  async openTier(tier: Tier, options: OperationOptions): Promise<void> {
    await raceAbort(this.#assertElsewhere(tier), options.signal);
    await tier.open(options);
    // Checked again, because opened drivers know their locations more precisely.
    assertApart(this.source, this.tiers);
  }

  /** Does not access the storage of other tiers, which may hang. The places of opened tiers are known. */
  async #assertElsewhere(tier: Tier): Promise<void> {
    tier.found = await find(`tiers[${tier.level}]`, tier.driver);
    if (tier.found === undefined) return;
    const source = await find('source', this.source);
    const others = this.tiers.filter((other) => other !== tier).map(({ found }) => found);
    await assertElsewhere(
      tier.found,
      [source, ...others].filter((found) => found !== undefined),
    );
  }

  versionToAskFor(version: string): string | undefined {
    return this.#asked.toAskFor(version);
  }

  publish(id: number, place: CopyPlace): void {
    this.#places.publish(id, place);
  }

  withdraw(id: number): void {
    this.#places.withdraw(id);
  }

  tagOf(id: number): number | undefined {
    return this.#places.tagOf(id);
  }

  placed({ key }: ObjectRef, level: number, bytes: number): void {
    this.#events.emit('placed', { key, level, bytes });
  }

  dropped(key: string, level: number, reason: DropReason): void {
    this.#events.emit('dropped', { key, level, reason });
  }

  placementFailed({ key }: ObjectRef, level: number, error: unknown): void {
    this.#events.emit('placementFailed', { key, level, error });
  }

  tierFault(tier: Tier, operation: Operation, key: string, error: unknown): void {
    this.#tally.fault(tier, operation, key, error);
  }

  tierWorked(tier: Tier, use: TierUse): void {
    this.#tally.worked(tier, use);
  }

  tierServed(tier: Tier, bytes: number): void {
    this.#tally.served(tier, bytes);
  }

  sourceReplaced({ level }: Tier): void {
    this.#events.emit('sourceReplaced', { level, source: this.source.name });
  }

  tierShrunk({ level }: Tier, quotaBytes: number): void {
    this.#events.emit('tierShrunk', { level, quotaBytes });
  }
}
