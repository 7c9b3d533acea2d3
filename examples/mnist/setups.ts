import path from 'node:path';
import { Hierarchy, MemoryDriver, type StorageDriver } from '@tiered/core';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler } from '@tiered/tiering';

/** What a setup may use. */
interface Surroundings {
  /** What has the dataset, and is shared with many. */
  readonly source: StorageDriver;
  /** The same dataset on the local disk. */
  readonly localDirectory: string;
  /** An empty directory on the local disk. */
  readonly scratch: string;
  /** Size of the dataset. */
  readonly bytes: number;
}

/** Where bytes can come from. */
export type Place = 'RAM' | 'disk' | 'source';

export type SetupName = 'loop by hand' | 'local only' | 'cache everything first' | 'tiered';

/** A way to store the data, and what it is called. */
export interface Setup {
  readonly name: SetupName;
  readonly about: string;
  /** The places of the hierarchy's levels, fastest first. */
  readonly levels: readonly Place[];
  /** Whether the source is read past the hierarchy, which then only lists it. */
  readonly byHand: boolean;
  /** Whether everything is put on the tiers before the first epoch. */
  readonly fillFirst: boolean;
  readonly build: (surroundings: Surroundings) => Hierarchy;
}

/**
 * Shares of the data: together 56 %, as in MONARCH's experiments, where 200 GiB met 115 GiB of local disk.
 */
const RAM_SHARE = 0.16;
const DISK_SHARE = 0.4;
export const SHARE = RAM_SHARE + DISK_SHARE;

/**
 * What a disk needs to hold so many bytes: files take whole blocks there, and the index of the tier some
 * room.
 */
export function onDisk(bytes: number): number {
  return Math.ceil(bytes * (1 + 1 / 32)) + 1024 * 1024;
}

/** Every epoch reads everything from the source, as `byHand` does. */
function sourceOnly({ source }: Surroundings): Hierarchy {
  return new Hierarchy({ source });
}

/** Everything is on the local disk already. No setup can be faster. */
function localOnly({ localDirectory }: Surroundings): Hierarchy {
  return new Hierarchy({ source: new FileSystemDriver({ root: localDirectory }) });
}

/** A disk that holds everything; the demo calls `hierarchy.place(key)` for every shard before it trains. */
function cacheFirst({ source, scratch, bytes }: Surroundings): Hierarchy {
  const disk = new FileSystemDriver({ root: path.join(scratch, 'cache'), writable: true });
  return new Hierarchy({
    source,
    tiers: [{ driver: disk, quota: onDisk(bytes) }],
    placement: new PlacementHandler(),
  });
}

/** A little RAM, some disk; what they hold is decided while the first epoch trains. */
function tiered({ source, scratch, bytes }: Surroundings): Hierarchy {
  const ram = new MemoryDriver({ name: 'ram' });
  const disk = new FileSystemDriver({ root: path.join(scratch, 'tier'), writable: true });
  return new Hierarchy({
    source,
    tiers: [
      { driver: ram, quota: Math.ceil(RAM_SHARE * bytes) },
      { driver: disk, quota: onDisk(DISK_SHARE * bytes) },
    ],
    placement: new PlacementHandler(),
  });
}

export const SETUPS: readonly Setup[] = [
  {
    name: 'loop by hand',
    about:
      'what people have today: a loop with p-limit and no SDK reads 8 shards ahead, all of them from the source',
    levels: ['source'],
    byHand: true,
    fillFirst: false,
    build: sourceOnly,
  },
  {
    name: 'local only',
    about: 'everything is on the local disk already: the bound',
    levels: ['disk'],
    byHand: false,
    fillFirst: false,
    build: localOnly,
  },
  {
    name: 'cache everything first',
    about: 'a disk tier for 100 % of the data, filled before the first epoch',
    levels: ['disk', 'source'],
    byHand: false,
    fillFirst: true,
    build: cacheFirst,
  },
  {
    name: 'tiered',
    about: 'RAM for 16 % and disk for 40 % of the data, filled by the first epoch itself',
    levels: ['RAM', 'disk', 'source'],
    byHand: false,
    fillFirst: false,
    build: tiered,
  },
];
