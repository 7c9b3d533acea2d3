import { systemClock, type Clock } from '../support/clock.js';
import type { StorageDriver } from '../driver/driver.js';
import { assertNoTilde, configError } from '../support/errors.js';
import { assertApart, assertOutside } from '../driver/locations.js';
import type { MetadataContainer } from '../namespace/metadata-container.js';
import type { FetchModel } from '../read/place-choice.js';
import type { Placement, VersionPolicy } from '../placement/placement.js';
import type { TierOptions } from '../tier/tier.js';

/** Options of `Hierarchy`. */
export interface HierarchyOptions {
  /** The full dataset: the last level, never written. */
  readonly source: StorageDriver;
  /** The levels above the source, fastest first. Default: none. */
  readonly tiers?: readonly TierOptions[] | undefined;
  /**
   * Decides which objects are kept on which tier: `new PlacementHandler()` of `@tiered/tiering`. Required if
   * there are tiers.
   */
  readonly placement?: Placement | undefined;
  /**
   * Whether `open` lists the source, so that every size is known before the first read. If not, the first use
   * of each object costs one `stat`. Default: true if the source can list.
   */
  readonly scan?: boolean | undefined;
  /**
   * Path of a file that stores the namespace, so that only the first start lists the source. It is written
   * after a listing. Changes to objects since then are noticed by reads and by `rescan`. Must not be inside
   * the source. Default: none.
   */
  readonly manifest?: string | undefined;
  /**
   * A namespace that already knows objects, so that they cost no `stat` if the source is not scanned. It must
   * be made for the same number of tiers, and serves this hierarchy only. Cannot be combined with `manifest`.
   * Default: a new, empty one.
   */
  readonly metadata?: MetadataContainer | undefined;
  /** What to do when an object in the source has changed. Default: `refresh`. */
  readonly versions?: VersionPolicy | undefined;
  /**
   * Estimates how long reads take, so that each read uses the faster of the copy and the source at that
   * moment. If the source then fails, the copy is read. Batches (`readMany`) always read copies. Default:
   * none. Copies are then always read, which spares the source.
   */
  readonly model?: FetchModel | undefined;
  /**
   * Takes a line for the log when a tier is not used, or is smaller than configured, and the corresponding
   * event has no listener. There is one line per tier and reason, repeated after ten minutes at the earliest.
   * Lines hold names of drivers and error codes, and no secrets. Default: `process.emitWarning` (type
   * `TieredWarning`), at most 10 lines in ten minutes over all hierarchies, which name the event.
   */
  readonly warn?: ((line: string) => void) | undefined;
  /**
   * The name of this hierarchy in traces and metrics, to distinguish several in one process. Default: the
   * name of the source's driver, such as `fs:/data`.
   */
  readonly name?: string | undefined;
  /** Default: the clock of the machine. */
  readonly clock?: Clock | undefined;
}

/** The options with their defaults. */
export interface CheckedHierarchyOptions extends HierarchyOptions {
  readonly name: string;
  readonly tiers: readonly TierOptions[];
  readonly scan: boolean;
  readonly versions: VersionPolicy;
  readonly clock: Clock;
}

/**
 * Fills in the defaults, and checks the options as far as possible before anything is opened.
 * @throws TieredError `TIERED_CONFIG_INVALID` that names the field.
 */
export function checkedOptions(options: HierarchyOptions): CheckedHierarchyOptions {
  const { source, tiers = [], placement, clock = systemClock } = options;
  assertDriver('source', source);
  const { name = source.name } = options;
  if (typeof name !== 'string' || name === '') throw configError('name', 'a name', name);
  assertList('tiers', tiers);
  assertDistinct(source, tiers);
  assertApart(source, tiers);
  assertPlacement(placement, tiers);
  if (options.scan === true && !source.capabilities.list) {
    throw configError('scan', 'false, because the source cannot list', true);
  }
  const scan = options.scan ?? source.capabilities.list;
  assertManifest(options, scan);
  assertMetadata(options, tiers.length);
  assertModel(options.model);
  if (options.warn !== undefined && typeof options.warn !== 'function')
    throw configError('warn', 'a function that takes a line', options.warn);
  return { ...options, name, tiers, scan, versions: checkedVersions(options.versions), clock };
}

/** Names a missing option for users of JavaScript, who would otherwise meet an undefined property later. */
function assertDriver(field: string, driver: unknown): void {
  if (!isDriver(driver)) throw configError(field, 'a StorageDriver', driver);
}

/** Whether a value looks like a driver. */
export function isDriver(value: unknown): value is StorageDriver {
  const { capabilities } = (value ?? {}) as { readonly capabilities?: unknown };
  return typeof capabilities === 'object' && capabilities !== null;
}

function checkedVersions(versions: VersionPolicy = 'refresh'): VersionPolicy {
  if (['refresh', 'pin', 'ignore'].includes(versions)) return versions;
  throw configError('versions', '"refresh", "pin" or "ignore"', versions);
}

function assertManifest({ manifest, source }: HierarchyOptions, scan: boolean): void {
  if (manifest === undefined) return;
  if (typeof manifest !== 'string' || manifest === '')
    throw configError('manifest', 'the path of a file', manifest);
  assertNoTilde('manifest', manifest);
  if (!scan) throw configError('manifest', 'none, because the source is not listed', manifest);
  assertOutside(source, manifest);
}

function assertMetadata({ metadata, manifest }: HierarchyOptions, sourceLevel: number): void {
  if (metadata === undefined) return;
  if (manifest !== undefined) throw configError('metadata', 'none, because there is a manifest', 'both');
  const { sourceLevel: got } = metadata as Partial<MetadataContainer>;
  const expected = `new MetadataContainer(${sourceLevel}), because there are ${sourceLevel} tiers`;
  if (got !== sourceLevel) throw configError('metadata', expected, got);
  for (let id = 0; id < metadata.count; id++) {
    if (metadata.levelOf(id) === sourceLevel) continue;
    throw configError('metadata', 'objects that are all in the source', metadata.describe(id));
  }
}

function assertModel(model: unknown): void {
  if (model === undefined) return;
  const { fetchMs } = (model ?? {}) as { readonly fetchMs?: unknown };
  if (typeof fetchMs !== 'function') throw configError('model', 'a FetchModel', model);
}

function assertList(field: string, list: unknown): void {
  if (!Array.isArray(list)) throw configError(field, 'a list of { driver, quota }, fastest first', list);
}

function assertDistinct(source: StorageDriver, tiers: readonly TierOptions[]): void {
  const drivers = new Set<StorageDriver>([source]);
  for (const [level, { driver }] of tiers.entries()) {
    assertDriver(`tiers[${level}].driver`, driver);
    if (drivers.has(driver))
      throw configError(`tiers[${level}].driver`, 'a driver that no other level uses', driver.name);
    drivers.add(driver);
  }
}

function assertPlacement(placement: Placement | undefined, tiers: readonly TierOptions[]): void {
  const expected = 'new PlacementHandler() of @tiered/tiering';
  if (placement !== undefined && typeof (placement as Partial<Placement>).read !== 'function') {
    throw configError('placement', expected, placement);
  }
  if (tiers.length > 0 && placement === undefined) {
    throw configError('placement', `${expected}, because there are tiers`, placement);
  }
}
