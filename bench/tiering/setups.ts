import { Hierarchy, type StorageDriver } from '@tiered/core';
import { native } from '@tiered/native';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler } from '@tiered/tiering';
import { quotaOnDisk } from '../lib/on-disk.js';
import { fromDriver, throughHierarchy, type Access } from './access.js';
import type { Dataset, DataObject } from './dataset.js';
import { readAll, type Loader } from './loader.js';
import { LocalWorkers } from './local-workers.js';

/** What a setup may use. */
interface Surroundings {
  /** The dataset behind the throttle. */
  readonly source: StorageDriver;
  /** The same dataset on the local disk. */
  readonly dataset: Dataset;
  /** How it is read. */
  readonly loader: Loader;
  /** An empty directory on the local disk. */
  readonly cache: string;
}

/** A setup at work. */
interface Opened {
  /** Reads every object once. */
  readonly readAll: (order: readonly DataObject[]) => Promise<void>;
  /** There if the setup has tiers: to fill them ahead, and to see when they are filled. */
  readonly hierarchy?: Hierarchy;
  readonly close: () => Promise<void>;
}

/** A way to store the data, and to read it. */
export interface Setup {
  readonly name: string;
  readonly open: (surroundings: Surroundings) => Promise<Opened>;
  /** Epochs of a run. Default: all. */
  readonly epochs?: number;
  /** Whether it is run in every round, because a check compares it. Default: once. */
  readonly everyRound?: boolean;
  /** Whether it reads the throttled source. Default: yes. */
  readonly local?: boolean;
  /** Bytes that its tier may hold, as a share of the dataset. Default: no tier. */
  readonly room?: number;
  /** Whether everything is put on the tier before the first epoch. Default: no. */
  readonly fillFirst?: boolean;
}

/**
 * More than the dataset: what a tier may need beside the bytes of the objects is no subject of this bench.
 */
export const ROOM_FOR_ALL = 1.1;
/** MONARCH's share: 115 of 200 GiB, of which a part was taken by other things. */
export const ROOM_FOR_SOME = 0.56;

export const sourceOnly: Setup = {
  name: 'source only',
  everyRound: true,
  open: async ({ source, loader }) => plain(await new Hierarchy({ source }).open(), loader),
};

/** One epoch is enough: all are alike, and it costs as much as the slowest setup. */
export const withoutSdk: Setup = {
  name: 'source only, bare driver',
  everyRound: true,
  epochs: 1,
  open: async ({ source, loader }) => {
    await source.open({});
    return { readAll: by(fromDriver(source), loader), close: () => source.close() };
  },
};

/** What "local only" means in ratios and checks: the fastest that a loader in Node can be on a directory. */
export const localOnly: Setup = {
  name: 'local only, blocking workers',
  everyRound: true,
  local: true,
  open: async ({ dataset, loader }) => {
    const workers = await LocalWorkers.start(dataset, loader);
    return { readAll: (order) => workers.readAll(order), close: () => workers.close() };
  },
};

export const localBySdk: Setup = {
  name: `local only, SDK (${native().available ? 'native threads' : "Node's pool"})`,
  local: true,
  open: async ({ dataset: { directory }, loader }) =>
    plain(await new Hierarchy({ source: new FileSystemDriver({ root: directory }) }).open(), loader),
};

export const filledFirst: Setup = {
  name: 'cache everything first',
  room: ROOM_FOR_ALL,
  fillFirst: true,
  open: (surroundings) => withTier(surroundings, ROOM_FOR_ALL),
};

export const tiered: Setup = {
  name: 'tiered, room for all',
  everyRound: true,
  room: ROOM_FOR_ALL,
  open: (surroundings) => withTier(surroundings, ROOM_FOR_ALL),
};

export const tieredInPart: Setup = {
  name: 'tiered, room for 56 %',
  room: ROOM_FOR_SOME,
  open: (surroundings) => withTier(surroundings, ROOM_FOR_SOME),
};

/** Room for a part, of which no calibration knows. */
export const tieredInQuarter: Setup = {
  name: 'tiered, room for 25 %',
  room: 0.25,
  open: (surroundings) => withTier(surroundings, 0.25),
};

export const SETUPS: readonly Setup[] = [
  sourceOnly,
  withoutSdk,
  localOnly,
  localBySdk,
  filledFirst,
  tiered,
  tieredInPart,
];

/** Bytes that a setup may keep of a dataset. */
export function keptBytes({ room = 0 }: Setup, datasetBytes: number): number {
  return Math.min(datasetBytes, Math.floor(room * datasetBytes));
}

async function withTier({ source, dataset, loader, cache }: Surroundings, room: number): Promise<Opened> {
  const tier = {
    driver: new FileSystemDriver({ root: cache, writable: true }),
    quota: quotaOnDisk(Math.floor(room * dataset.bytes), Math.floor(room * dataset.objects.length)),
  };
  const hierarchy = new Hierarchy({ source, tiers: [tier], placement: new PlacementHandler() });
  return { ...plain(await hierarchy.open(), loader), hierarchy };
}

function plain(hierarchy: Hierarchy, loader: Loader): Opened {
  return { readAll: by(throughHierarchy(hierarchy), loader), close: () => hierarchy.close() };
}

function by(access: Access, loader: Loader): Opened['readAll'] {
  return (order) => readAll(access, order, loader);
}
