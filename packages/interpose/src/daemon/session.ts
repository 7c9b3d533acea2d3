import {
  Hierarchy,
  systemClock,
  TieredError,
  type ByteSize,
  type Clock,
  type HierarchyOptions,
} from '@tiered/core';
import { closedError, configError } from '@tiered/core/internal';
import type { Ahead } from '../replay/ahead.js';
import { openReplay } from '../replay/open-replay.js';
import type { Recorder } from '../replay/recorder.js';
import { Ring } from '../ring/ring.js';
import type { SourceFile, TableOptions } from '../table/writer.js';
import { assertFarmIsLeft } from './farm-directory.js';
import { Farm, type FarmParts } from './farm.js';
import { Filling } from './filling.js';
import { Follower } from './follower.js';
import { Growing, RESCAN_MS, Rescans } from './growing.js';
import { Listener } from './listener.js';
import { Beats, Lifeline } from './signs-of-life.js';
import { directoryOf, realRoots } from './locations.js';
import { Parts } from './parts.js';
import { placeForPrograms, PublishedTable } from './published-table.js';
import type { Readable } from './readable.js';
import { Requests } from './requests.js';
import { RootWatch } from './root-watch.js';
import {
  makeSessionDirectory,
  makeSessionDirectoryAt,
  removeSessionDirectory,
  touch,
  writeAbout,
  type SessionAbout,
  type SessionDirectory,
} from './session-directory.js';
import { SourceFiles } from './source-files.js';
import { ServedObjects } from './objects.js';
import { SessionSocket, type Conversation } from './socket.js';
import type { ProgramWait } from './waits.js';

/** Options of a session. */
export interface SessionOptions {
  /** The hierarchy, as `loadHierarchyOptions` gives it. Its tiers are directories. */
  readonly hierarchy: HierarchyOptions;
  /**
   * The path below which programs find the objects, where they read none from the source themselves: it is no
   * directory, such as a bucket, or has to be read by this process, because jobs or the workers of a cluster
   * share it. There is nothing, or an empty directory. Default: none, for a source that is a directory.
   */
  readonly root?: string | undefined;
  /**
   * With `root`: the most bytes of objects that no tier took, and that are kept in the session's directory
   * although nobody is about to open them. Default: 256 MiB.
   */
  readonly spool?: ByteSize | undefined;
  /**
   * Other paths by which programs come to the source, such as a symbolic link to it. Together with the path
   * that the configuration names, if that is not the real one, at most 3. Default: none.
   */
  readonly aliases?: readonly string[] | undefined;
  /** The parent of the session's directory. Default: `/dev/shm`, which is memory. */
  readonly directory?: string | undefined;
  /**
   * The directory of the session, as an absolute path at which there is nothing, so that programs can be told
   * of it that others start. Default: a new one.
   */
  readonly at?: string | undefined;
  /**
   * Keys in the order in which programs will open their files, as `keysOf` a trace gives them. The next
   * objects are then placed ahead of programs, and the last ones are evicted. The policy must not evict by
   * itself. Default: an object that programs read from the source is placed, as the policy says.
   */
  readonly plan?: AsyncIterable<string> | undefined;
  /**
   * A directory of symbolic links, one for each object, for programs that no shim can be loaded into: a link
   * leads to the copy while there is one, and else to the source. There is nothing, or such a directory that
   * an earlier daemon left. As nobody sees what programs open by it, objects are placed in the order of the
   * listing, or in that of `plan`, as long as there is room. Default: none.
   */
  readonly farm?: string | undefined;
  /** A file at which there is nothing, to which it is written down what programs open. Default: none. */
  readonly record?: string | undefined;
  /**
   * Milliseconds between two listings of the source, by which it is found what others changed there; 0 for
   * none. A listing that takes longer than a twentieth of that is followed by a longer pause. Default:
   * 300,000 for a directory that is scanned, else 0, as listings of buckets are paid for.
   */
  readonly rescanEveryMs?: number | undefined;
  /** Ends the opening. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the hierarchy before it is opened, to listen to its events. */
  readonly onHierarchy?: ((hierarchy: Hierarchy) => void) | undefined;
  /**
   * With `root`: told when a program has waited for 3 seconds until an object can be read, and every 10
   * seconds while one waits. Default: nobody is told.
   */
  readonly onWait?: ((wait: ProgramWait) => void) | undefined;
  /** Told how many objects are in the table while it is made. */
  readonly onTable?: ((objects: number, of: number) => void) | undefined;
  /** Told how many objects have their links in the farm while it is made. */
  readonly onFarm?: ((objects: number, of: number) => void) | undefined;
}

/** Everything that is there while a hierarchy is served. */
export interface Session {
  readonly hierarchy: Hierarchy;
  /** The path that programs have to know. */
  readonly directory: string;
  readonly about: SessionAbout;
  readonly follower: Follower;
  readonly listener: Listener;
  readonly ring: Ring;
  readonly requests: Requests;
  readonly socket: SessionSocket;
  /** Objects that programs wait for, with an imaginary root. */
  readonly readable: Readable | undefined;
  readonly ahead: Ahead | undefined;
  readonly recorder: Recorder | undefined;
  readonly farm: Farm | undefined;
  /** Places for programs that read by the farm, without a plan. */
  readonly filling: Filling | undefined;
  /** Lists the source again, and takes in what came since. */
  readonly rescan: (signal: AbortSignal | undefined) => Promise<void>;
  /** Ends everything, what was opened last first. */
  readonly close: () => Promise<void>;
}

/** Opens everything. A failure closes all parts again. */
export async function openSession(options: SessionOptions): Promise<Session> {
  const parts = new Parts();
  try {
    return await openParts(options, parts);
  } catch (error) {
    // The error of the start says more than one of the clean-up.
    await parts.close().catch(() => undefined);
    throw error;
  }
}

/** One part after the other. Each is made of those in front of it, and closed before them. */
async function openParts(options: SessionOptions, parts: Parts): Promise<Session> {
  const { hierarchy: given, root, signal } = options;
  const { clock = systemClock, tiers = [], placement, source } = given;
  const configured = directoryOf(source);
  const hierarchy = parts.add(new Hierarchy(given));
  options.onHierarchy?.(hierarchy);
  await hierarchy.open({ signal });
  const { namespace } = hierarchy;
  const placeOf = (id: number) => placeForPrograms(hierarchy.placeOf(id));
  const tierPaths = tiers.map(({ driver }) => directoryOf(driver) ?? '');

  const directory = parts.add(await directoryFor(options), removeSessionDirectory);
  // Before all that takes long with many objects, so that nobody takes this daemon for dead meanwhile.
  parts.add(new Lifeline(directory.lifeline));
  const ring = parts.add(new Ring(directory.ring, clock));
  const beats = parts.add(new Beats(() => touch(directory), clock));
  const requests = parts.add(new Requests(hierarchy, clock));
  const tableOptions = tableOf(options, directory, tierPaths, configured);
  const table = parts.add(new PublishedTable(tableOptions, { namespace, placeOf }, clock));
  beats.add(() => table.beat());
  const watch = RootWatch.over(tableOptions, (away) => table.setRootsAway(away));
  beats.add(() => watch?.look());
  const describe = (id: number, file: SourceFile | number) => table.describe(id, file);
  const served = { hierarchy, requests, directory, clock, placeOf, describe, tiers: tierPaths };
  const { spool, onWait } = options;
  const objects =
    root === undefined ? undefined : parts.add(await ServedObjects.over({ ...served, spool, onWait }));
  const [realRoot = ''] = tableOptions.roots;
  const about = { root: realRoot, isImaginary: root !== undefined, tiers: tierPaths };
  writeAbout(directory.path, about);
  const files = objects?.files ?? parts.add(await SourceFiles.over({ root: realRoot, namespace, describe }));
  const linked = { session: directory.path, tiers: tierPaths, namespace, placeOf };
  const farm = parts.add(await openFarm(options, linked, clock));
  beats.add(() => farm?.repair());
  const replay = await openReplay({ ...options, hierarchy, placement, clock }, parts);

  const known = { namespace, sourceLevel: tiers.length, placement, table, farm, files, requests };
  const follower = new Follower({ ...known, ...replay, clock });
  hierarchy.on('moved', ({ id, place }) => follower.moved(id, place));
  const rescan = async (under: AbortSignal | undefined) => {
    const listed = table.beginListing();
    await hierarchy.rescan({ signal: under });
    listed();
    await growing.more(under);
  };
  const socket = parts.add(await SessionSocket.at(directory.socket, conversation(objects, rescan)));
  const listener = parts.add(new Listener(ring, clock, (message) => follower.opened(message)));
  const fills = farm !== undefined && replay.ahead === undefined;
  const filling = fills ? parts.add(new Filling(hierarchy, clock)) : undefined;
  const growing = parts.add(new Growing({ table, files, tree: objects?.tree, farm, filling }));
  await growing.more(signal, {
    onTable: (entries) => options.onTable?.(entries, namespace.count),
    onFarm: (links) => options.onFarm?.(links, namespace.count),
  });
  replay.ahead?.begin();
  const ending = new AbortController();
  const checking = follower.checkAll(() => clock.turn(), ending.signal);
  parts.add(ending, () => {
    ending.abort(closedError());
    return checking;
  });
  const everyMs = options.rescanEveryMs ?? (root === undefined && given.scan !== false ? RESCAN_MS : 0);
  if (everyMs > 0) parts.add(new Rescans(rescan, everyMs, clock));
  return {
    ...{ hierarchy, follower, listener, ring, requests, socket, farm, filling, ...replay },
    ...{ directory: directory.path, about, readable: objects?.readable, rescan },
    close: () => parts.close(),
  };
}

function directoryFor({ at, directory }: SessionOptions): Promise<SessionDirectory> {
  return at === undefined ? makeSessionDirectory(directory) : makeSessionDirectoryAt(at);
}

/** The directories in the table: those of the objects, and those of their copies. */
function tableOf(
  { hierarchy, root, aliases = [] }: SessionOptions,
  { table, tree, spool }: SessionDirectory,
  tiers: readonly string[],
  configured: string | undefined,
): Omit<TableOptions, 'entries'> {
  if (root === undefined) return { path: table, tiers, ...realRoots(hierarchy, [configured, ...aliases]) };
  // By the path of a file of the spool programs find out of which object it is, as by that of a copy.
  return { path: table, tiers: [...tiers, spool], roots: [root, tree], isImaginary: true };
}

async function openFarm(
  { farm, hierarchy: { source } }: SessionOptions,
  parts: Omit<FarmParts, 'directory' | 'root'>,
  clock: Clock,
): Promise<Farm | undefined> {
  if (farm === undefined) return undefined;
  const root = directoryOf(source);
  if (root === undefined)
    throw configError('farm', 'nothing, because its links lead to the source, which is no directory', farm);
  await assertFarmIsLeft(farm, parts.session);
  return new Farm({ ...parts, directory: farm, root }, clock);
}

function conversation(objects: ServedObjects | undefined, rescan: Conversation['rescan']): Conversation {
  const needsNone = () =>
    Promise.reject(new TieredError('TIERED_UNSUPPORTED', 'The source is a directory; open its files there.'));
  return {
    readable: (key) => objects?.readable.hold(key) ?? needsNone(),
    complete: (key, signal) => objects?.tree.complete(key, signal) ?? needsNone(),
    rescan,
  };
}
