import { Hierarchy, systemClock, type Clock, type HierarchyOptions } from '@tiered/core';
import { closedError, configError } from '@tiered/core/internal';
import fs from 'node:fs';
import path from 'node:path';
import { Ring } from '../ring/ring.js';
import type { TableOptions } from '../table/writer.js';
import { Follower } from './follower.js';
import { Listener } from './listener.js';
import { directoryOf } from './locations.js';
import { PublishedTable, type TableContent } from './published-table.js';
import { Requests } from './requests.js';
import { makeSessionDirectory, makeSessionDirectoryAt, removeSessionDirectory } from './session-directory.js';
import { SourceFiles } from './source-files.js';
import { WakeUps } from './wake-ups.js';
import { WatchedPlacement } from './watched-placement.js';

/** How often programs are told that the daemon lives: they believe it for 3 seconds. */
const BEAT_MS = 250;

/** What a session is opened with. */
export interface SessionOptions {
  /** The hierarchy, as `loadHierarchyOptions` gives it. Its source and its tiers are directories. */
  readonly hierarchy: HierarchyOptions;
  /**
   * Other paths by which programs come to the source, such as a symbolic link to it. Together with the path
   * that the configuration names, if that is not the real one, at most 3. Default: none.
   */
  readonly aliases?: readonly string[] | undefined;
  /** Where the directory of the session is made. Default: `/dev/shm`, which is memory. */
  readonly directory?: string | undefined;
  /**
   * The directory of the session, as an absolute path at which there is nothing, so that programs can be told
   * of it that others start. Default: a new one.
   */
  readonly at?: string | undefined;
  /** Ends the opening. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the hierarchy before it is opened, to listen to its events. */
  readonly onHierarchy?: ((hierarchy: Hierarchy) => void) | undefined;
  /** Told how many objects are in the table while it is made. */
  readonly onTable?: ((objects: number, of: number) => void) | undefined;
}

/** Everything that is there while a hierarchy is served. */
export interface Session {
  readonly hierarchy: Hierarchy;
  /** What programs have to be told. */
  readonly directory: string;
  readonly follower: Follower;
  readonly listener: Listener;
  readonly ring: Ring;
  readonly requests: Requests;
  /** Takes objects into the table that the hierarchy knows and the table does not. */
  readonly grow: (signal: AbortSignal | undefined) => Promise<void>;
  /** Ends everything, what was opened last first. */
  readonly close: () => Promise<void>;
}

/** Opens everything. What was opened is closed again if it fails. */
export async function openSession(options: SessionOptions): Promise<Session> {
  const closers: (() => unknown)[] = [];
  const close = async () => {
    for (let one = closers.pop(); one !== undefined; one = closers.pop()) await one();
  };
  try {
    return await openParts(options, closers, close);
  } catch (error) {
    // The error of the start says more than one of the clean-up.
    await close().catch(() => undefined);
    throw error;
  }
}

async function openParts(
  options: SessionOptions,
  closers: (() => unknown)[],
  close: () => Promise<void>,
): Promise<Session> {
  const { hierarchy: given, signal, onTable } = options;
  const { placement: inner, clock = systemClock, tiers = [], source } = given;
  if (inner === undefined) throw configError('placement', 'new PlacementHandler() of @tiered/tiering', inner);
  const configured = directoryOf(source);
  // There is none before the namespace is known.
  const following: { follower?: Follower } = {};
  const placement = new WatchedPlacement(inner, (id, place) => following.follower?.moved(id, place));
  const hierarchy = new Hierarchy({ ...given, placement });
  options.onHierarchy?.(hierarchy);
  closers.push(() => hierarchy.close());
  await hierarchy.open({ signal });

  const directory =
    options.at === undefined ? makeSessionDirectory(options.directory) : makeSessionDirectoryAt(options.at);
  closers.push(() => removeSessionDirectory(directory));
  const { namespace } = hierarchy;
  const content = { namespace, placeOf: placesOf(hierarchy, placement, tiers.length) };
  const paths = pathsOf(given, [configured, ...(options.aliases ?? [])]);
  const table = new PublishedTable({ path: directory.table, ...paths }, content, clock);
  closers.push(() => table.close());
  const files = await SourceFiles.over({
    root: paths.roots[0] ?? '',
    namespace,
    describe: (id, file) => table.describe(id, file),
  });
  closers.push(() => files.close());
  const requests = new Requests(hierarchy);
  closers.push(() => requests.close());
  const served = new Follower({ namespace, sourceLevel: tiers.length, placement, table, files, requests });
  following.follower = served;

  const ending = new AbortController();
  // One after the other: a table that grows may be replaced.
  let growing: Promise<unknown> = Promise.resolve();
  const grow = (under: AbortSignal | undefined, onProgress?: (objects: number) => void) => {
    const signals = AbortSignal.any([ending.signal, ...(under === undefined ? [] : [under])]);
    const grown = growing.then(async () => {
      signals.throwIfAborted();
      if (await table.grow(signals, onProgress)) files.forgetAll();
    });
    growing = grown.catch(() => undefined);
    return grown;
  };
  closers.push(() => {
    ending.abort(closedError());
    return growing;
  });
  await grow(signal, (objects) => onTable?.(objects, namespace.count));
  const ring = new Ring(directory.ring, clock);
  closers.push(() => ring.close());
  const wakeUps = await WakeUps.at(directory.socket);
  closers.push(() => wakeUps.close());
  const listener = new Listener(ring, wakeUps, clock, (message) => served.opened(message));
  const working = [beats(table, clock, ending.signal), served.checkAll(() => clock.turn(), ending.signal)];
  closers.push(async () => {
    ending.abort(closedError());
    await Promise.all([listener.close(), ...working]);
  });
  return { hierarchy, directory: directory.path, follower: served, listener, ring, requests, grow, close };
}

/** Tells programs that the daemon lives, as long as its event loop turns. */
async function beats(table: PublishedTable, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    table.beat();
    await clock.sleep(BEAT_MS, signal, { background: true }).catch(() => undefined);
  }
}

function placesOf(
  hierarchy: Hierarchy,
  placement: WatchedPlacement,
  sourceLevel: number,
): TableContent['placeOf'] {
  return (id) => {
    const level = hierarchy.namespace.directLevelOf(id);
    return level < sourceLevel ? placement.placeOf(id, level) : undefined;
  };
}

/** The directories of an open hierarchy, as the table has them. */
function pathsOf(
  { source, tiers = [] }: HierarchyOptions,
  aliases: readonly (string | undefined)[],
): Omit<TableOptions, 'path' | 'entries'> {
  const root = directoryOf(source) ?? '';
  const { dev, ino } = fs.statSync(root, { bigint: true });
  const roots = [root];
  for (const alias of aliases) {
    const known = alias === undefined ? root : path.resolve(alias);
    if (roots.includes(known)) continue;
    const { dev: device, ino: inode } = fs.statSync(known, { bigint: true });
    if (device !== dev || inode !== ino) throw configError('aliases', `paths of the source, ${root}`, known);
    roots.push(known);
  }
  return {
    roots,
    rootFile: { device: dev, inode: ino },
    tiers: tiers.map(({ driver }) => directoryOf(driver) ?? ''),
  };
}
