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
import { assertFarmIsLeft } from './farm-directory.js';
import { Farm, type FarmParts } from './farm.js';
import { Filling } from './filling.js';
import { Follower } from './follower.js';
import { growing } from './growing.js';
import { Listener } from './listener.js';
import { Beats } from './beats.js';
import { directoryOf, realRoots } from './locations.js';
import { PublishedTable, type TableContent } from './published-table.js';
import type { Readable } from './readable.js';
import { Requests } from './requests.js';
import {
  makeSessionDirectory,
  makeSessionDirectoryAt,
  removeSessionDirectory,
  touch,
  type SessionDirectory,
} from './session-directory.js';
import { SourceFiles, type FileKnowledge } from './source-files.js';
import { ServedObjects } from './objects.js';
import { SessionSocket, type Conversation } from './socket.js';
import { WatchedPlacement, type PlaceWatcher } from './watched-placement.js';

/** What a session is opened with. */
export interface SessionOptions {
  /** The hierarchy, as `loadHierarchyOptions` gives it. Its tiers are directories. */
  readonly hierarchy: HierarchyOptions;
  /**
   * The path below which programs find the objects of a source that is no directory, such as a bucket. There
   * is nothing, or an empty directory. Default: none, for a source that is a directory.
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
  /** Where the directory of the session is made. Default: `/dev/shm`, which is memory. */
  readonly directory?: string | undefined;
  /**
   * The directory of the session, as an absolute path at which there is nothing, so that programs can be told
   * of it that others start. Default: a new one.
   */
  readonly at?: string | undefined;
  /**
   * Keys in the order in which programs will open their files, as `keysOf` a trace gives them. What comes
   * next is then placed ahead of programs, and what comes last is evicted. The policy must not evict by
   * itself. Default: what programs had to read from the source is placed, as the policy says.
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
  /** Ends the opening. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the hierarchy before it is opened, to listen to its events. */
  readonly onHierarchy?: ((hierarchy: Hierarchy) => void) | undefined;
  /** Told how many objects are in the table while it is made. */
  readonly onTable?: ((objects: number, of: number) => void) | undefined;
  /** Told how many objects have their links in the farm while it is made. */
  readonly onFarm?: ((objects: number, of: number) => void) | undefined;
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
  readonly socket: SessionSocket;
  /** What programs wait for, with an imaginary root. */
  readonly readable: Readable | undefined;
  readonly ahead: Ahead | undefined;
  readonly recorder: Recorder | undefined;
  readonly farm: Farm | undefined;
  /** What places for those who read by the farm, without a plan. */
  readonly filling: Filling | undefined;
  /** Takes objects into the table that the hierarchy knows and the table does not. */
  readonly grow: (signal: AbortSignal | undefined) => Promise<void>;
  /** Ends everything, what was opened last first. */
  readonly close: () => Promise<void>;
}

/** Opens everything. What was opened is closed again if it fails. */
export async function openSession(options: SessionOptions): Promise<Session> {
  const closers: (() => unknown)[] = [];
  const close = () => closeAll(closers);
  try {
    return await openParts(options, closers, close);
  } catch (error) {
    // The error of the start says more than one of the clean-up.
    await close().catch(() => undefined);
    throw error;
  }
}

/** Ends everything, what was opened last first, also if something fails: the first error is thrown then. */
async function closeAll(closers: (() => unknown)[]): Promise<void> {
  const errors: unknown[] = [];
  for (let one = closers.pop(); one !== undefined; one = closers.pop())
    await Promise.resolve()
      .then(one)
      .catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw errors[0];
}

/** What knows where files are. */
interface Told {
  readonly hierarchy: Hierarchy;
  readonly directory: SessionDirectory;
  readonly requests: Requests;
  readonly objects: ServedObjects | undefined;
  readonly table: PublishedTable;
  readonly farm: Farm | undefined;
  readonly files: FileKnowledge;
}

interface Serving extends Told, Pick<Session, 'follower' | 'ring' | 'ahead' | 'recorder' | 'close'> {
  readonly clock: Clock;
  readonly closers: (() => unknown)[];
}

async function openParts(
  options: SessionOptions,
  closers: (() => unknown)[],
  close: () => Promise<void>,
): Promise<Session> {
  const { hierarchy: given, signal, root } = options;
  const { clock = systemClock, tiers = [], source } = given;
  const configured = directoryOf(source);
  // There is none before the namespace is known.
  const following: { follower?: Follower } = {};
  const { hierarchy, placement } = watchedHierarchy(given, (id, place) =>
    following.follower?.moved(id, place),
  );
  options.onHierarchy?.(hierarchy);
  closers.push(() => hierarchy.close());
  await hierarchy.open({ signal });

  const directory = await (options.at === undefined
    ? makeSessionDirectory(options.directory)
    : makeSessionDirectoryAt(options.at));
  closers.push(() => removeSessionDirectory(directory));
  // Before all that takes long with many objects, so that nobody takes this daemon for dead meanwhile.
  const ring = new Ring(directory.ring, clock);
  closers.push(() => ring.close());
  const beats = new Beats(() => touch(directory), clock);
  closers.push(() => beats.close());
  const { namespace } = hierarchy;
  const requests = new Requests(hierarchy, clock);
  closers.push(() => requests.close());
  const placeOf = placesOf(hierarchy, placement, tiers.length);
  const tierPaths = tiers.map(({ driver }) => directoryOf(driver) ?? '');
  const objects =
    root === undefined
      ? undefined
      : new ServedObjects({
          ...{ hierarchy, requests, directory, clock, placeOf, tiers: tierPaths, spool: options.spool },
          describe: (id, file) => table.describe(id, file),
        });
  closers.push(() => objects?.readable.close());
  const roots =
    root === undefined
      ? realRoots(given, [configured, ...(options.aliases ?? [])])
      : { roots: [root, directory.tree], isImaginary: true };
  const content = { namespace, placeOf, fileOf: objects && ((id: number) => objects.files.fileOf(id)) };
  // By the path of a file of the spool programs find out of which object it is, as by that of a copy.
  const directories = root === undefined ? tierPaths : [...tierPaths, directory.spool];
  const table = new PublishedTable({ path: directory.table, tiers: directories, ...roots }, content, clock);
  closers.push(() => table.close());
  const files: FileKnowledge =
    objects?.files ??
    (await SourceFiles.over({
      root: roots.roots[0] ?? '',
      namespace,
      describe: (id, file) => table.describe(id, file),
    }));
  closers.push(() => files.close?.());
  const farm = await openFarm(
    options,
    { session: directory.path, tiers: tierPaths, namespace, placeOf },
    clock,
  );
  closers.push(() => farm?.close());
  const told = { hierarchy, directory, requests, objects, table, farm, files, placement };
  const { follower, ...replay } = await openFollower(options, told, closers);
  following.follower = follower;
  beats.add(() => table.beat());
  beats.add(() => farm?.repair());
  return serve({ ...told, ...replay, follower, ring, clock, closers, close }, options);
}

/** What hears what programs do, and what follows from that. */
async function openFollower(
  options: SessionOptions,
  { hierarchy, placement, table, farm, files, requests }: Told & { readonly placement: WatchedPlacement },
  closers: (() => unknown)[],
): Promise<Pick<Serving, 'follower' | 'ahead' | 'recorder'>> {
  const { placement: inner, clock = systemClock, tiers = [] } = options.hierarchy;
  const replay = await openReplay({ ...options, hierarchy, placement: inner, clock }, closers);
  const { namespace } = hierarchy;
  const parts = { namespace, sourceLevel: tiers.length, placement, table, farm, files, requests };
  return { follower: new Follower({ ...parts, ...replay }), ...replay };
}

/** Lets programs know where their files are, and hears from them. */
async function serve(serving: Serving, { signal, onTable, onFarm }: SessionOptions): Promise<Session> {
  const { hierarchy, directory, objects, table, farm, files, follower } = serving;
  const { ring, ahead, clock, closers } = serving;
  const ending = new AbortController();
  const socket = await SessionSocket.at(directory.socket, conversation(objects));
  closers.push(() => socket.close());
  const listener = new Listener(ring, clock, (message) => follower.opened(message));
  closers.push(() => listener.close());
  const filling = farm === undefined || ahead !== undefined ? undefined : new Filling(hierarchy, clock);
  closers.push(() => filling?.close());
  const grow = growing({ table, files, tree: objects?.tree, farm, filling, ending: ending.signal });
  closers.push(() => {
    ending.abort(closedError());
    return grow.ended();
  });
  await grow.more(signal, {
    onTable: (known) => onTable?.(known, hierarchy.namespace.count),
    onFarm: (linked) => onFarm?.(linked, hierarchy.namespace.count),
  });
  ahead?.begin();
  const checking = follower.checkAll(() => clock.turn(), ending.signal);
  closers.push(() => {
    ending.abort(closedError());
    return checking;
  });
  return {
    ...serving,
    ...{ listener, socket, filling, readable: objects?.readable, directory: directory.path },
    grow: (under) => grow.more(under),
  };
}

async function openFarm(
  { farm, hierarchy: { source, scan = true } }: SessionOptions,
  parts: Omit<FarmParts, 'directory' | 'root'>,
  clock: Clock,
): Promise<Farm | undefined> {
  if (farm === undefined) return undefined;
  if (!scan) throw configError('scan', 'true, because a farm has links of objects that are known', scan);
  const root = directoryOf(source);
  if (root === undefined)
    throw configError('farm', 'nothing, because its links lead to the source, which is no directory', farm);
  await assertFarmIsLeft(farm, parts.session);
  return new Farm({ ...parts, directory: farm, root }, clock);
}

function watchedHierarchy(
  given: HierarchyOptions,
  watcher: PlaceWatcher,
): { readonly hierarchy: Hierarchy; readonly placement: WatchedPlacement } {
  const { placement: inner } = given;
  if (inner === undefined) throw configError('placement', 'new PlacementHandler() of @tiered/tiering', inner);
  const placement = new WatchedPlacement(inner, watcher);
  return { hierarchy: new Hierarchy({ ...given, placement }), placement };
}

function conversation(objects: ServedObjects | undefined): Conversation {
  const needsNone = () =>
    Promise.reject(new TieredError('TIERED_UNSUPPORTED', 'The source is a directory; open its files there.'));
  return {
    readable: (key) => objects?.readable.hold(key) ?? needsNone(),
    complete: (key, signal) => objects?.tree.complete(key, signal) ?? needsNone(),
  };
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
