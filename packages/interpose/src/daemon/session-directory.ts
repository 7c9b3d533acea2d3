import { TieredError } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { hasRingMagic } from '../ring/ring.js';
import { outdateTable } from '../table/writer.js';
import { isHeld } from './signs-of-life.js';

/** Memory, where there is such a directory: programs map what is in here. */
export const SHARED_MEMORY = '/dev/shm';
const NAME = 'tiered-interpose-';
const TABLE = 'table';
const RING = 'ring';
/** Also of a directory in memory: whose process is gone closed it. */
export const SOCKET = 'socket';
const TREE = 'tree';
const SPOOL = 'spool';
const ABOUT = 'about.json';
const LIFELINE = 'lifeline';
/** All that may be in the directory. */
const NAMES = [TABLE, `${TABLE}.new`, RING, SOCKET, TREE, SPOOL, LIFELINE, ABOUT];
/** The longest path that a socket can have. */
const LONGEST_SOCKET = 107;
/**
 * Milliseconds for which a daemon may say nothing that is not there yet: it has a directory, and does not
 * listen. From then on it says four times a second that it lives.
 */
const SILENT_MS = 10_000;
/** Milliseconds for which what a daemon left behind stays, if nobody wants its place. */
const LEFT_MS = 600_000;

/** The files through which programs and the daemon talk to each other. */
export interface SessionDirectory {
  readonly path: string;
  readonly table: string;
  readonly ring: string;
  readonly socket: string;
  /** The directories of a root that need not be there. */
  readonly tree: string;
  /** Files of objects that no tier takes. */
  readonly spool: string;
  /** The file that the daemon has locked as long as it lives. */
  readonly lifeline: string;
}

/**
 * Makes a directory that only this user can enter. Those that daemons left behind which were killed go.
 * @param above Where. Default: `/dev/shm`, else that of temporary files.
 */
export async function makeSessionDirectory(
  above = fs.existsSync(SHARED_MEMORY) ? SHARED_MEMORY : os.tmpdir(),
): Promise<SessionDirectory> {
  const longest = LONGEST_SOCKET - NAME.length - '/XXXXXX/socket'.length;
  if (Buffer.byteLength(above) > longest)
    throw configError('directory', `a path of at most ${longest} bytes`, above);
  await removeLeftovers(above);
  return filesIn(fs.mkdtempSync(path.join(above, NAME)));
}

function filesIn(made: string): SessionDirectory {
  // Programs come to the tree by what the kernel calls it.
  const directory = fs.realpathSync(made);
  const inside = (name: string) => path.join(directory, name);
  return {
    path: directory,
    table: inside(TABLE),
    ring: inside(RING),
    socket: inside(SOCKET),
    tree: inside(TREE),
    spool: inside(SPOOL),
    lifeline: inside(LIFELINE),
  };
}

/**
 * Makes that directory at a path that was agreed on. Programs that found another daemon there go over to this
 * one.
 * @throws TieredError `TIERED_CONFIG_INVALID` if something is there that is not what a daemon left behind.
 */
export async function makeSessionDirectoryAt(at: string): Promise<SessionDirectory> {
  const longest = LONGEST_SOCKET - '/socket'.length;
  if (!path.isAbsolute(at) || Buffer.byteLength(at) > longest)
    throw configError('at', `an absolute path of at most ${longest} bytes`, at);
  if (await isLeft(at, (await isGone(at)) ? 0 : SILENT_MS)) remove(at);
  try {
    fs.mkdirSync(at, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    if (hasRingMagic(path.join(at, RING)) && (await isServed(at)))
      throw new TieredError('TIERED_CONFIG_INVALID', `at: a daemon already runs at ${at}.`);
    throw configError('at', 'a path at which there is nothing', at);
  }
  return filesIn(at);
}

/** Says that the daemon lives to others who might want its place. */
export function touch({ path: directory }: SessionDirectory): void {
  // The clock of files, which no other clock agrees with.
  // eslint-disable-next-line no-restricted-properties
  const now = Date.now() / 1000;
  try {
    fs.utimesSync(directory, now, now);
  } catch {
    // Somebody has deleted it. Programs read the source then.
  }
}

/** Programs that still look for it find nothing, and read the source. */
export function removeSessionDirectory({ path: directory }: SessionDirectory): void {
  remove(directory);
}

/** Whether a daemon lives whose session is in that directory: also one that was stopped listens. */
export async function isServed(directory: string): Promise<boolean> {
  const silent = silentMs(directory);
  if (silent === undefined || (await isGone(directory))) return false;
  return silent <= SILENT_MS || (await hasDaemonAt(directory));
}

async function removeLeftovers(above: string): Promise<void> {
  for (const name of fs.readdirSync(above)) {
    const directory = path.join(above, name);
    if (name.startsWith(NAME) && (await isLeft(directory, LEFT_MS))) remove(directory);
  }
}

/** Programs that know a session of that directory look for another one from now on. */
function remove(directory: string): void {
  outdateTable(path.join(directory, TABLE));
  fs.rmSync(directory, { recursive: true, force: true });
}

/** Whether a directory is what a daemon has left behind, and not somebody's own. */
async function isLeft(directory: string, afterMs: number): Promise<boolean> {
  const silent = silentMs(directory);
  if (silent === undefined || silent < afterMs || !hasRingMagic(path.join(directory, RING))) return false;
  if (!fs.readdirSync(directory).every((name) => NAMES.includes(name))) return false;
  return !(await hasDaemonAt(directory));
}

/**
 * Whether the daemon has ended whose session is in a directory, in whatever way. One that begins has the
 * lifeline before the socket, so it is never taken for one that was killed.
 */
async function isGone(directory: string): Promise<boolean> {
  if (!fs.existsSync(path.join(directory, SOCKET)) || (await hasDaemonAt(directory))) return false;
  return !isHeld(path.join(directory, LIFELINE));
}

/** How long nothing was said in a directory; undefined for what is no directory of this user's. */
export function silentMs(directory: string): number | undefined {
  const stat = fs.lstatSync(directory, { throwIfNoEntry: false });
  if (stat?.uid !== process.getuid?.() || stat?.isDirectory() !== true) return undefined;
  // eslint-disable-next-line no-restricted-properties
  return Date.now() - stat.mtimeMs;
}

/**
 * Whether a process has the socket in a directory of a session: the kernel closes it with the process, in
 * whatever container that is. So it is of a daemon that was stopped, too.
 */
export async function hasDaemonAt(at: string): Promise<boolean> {
  const connection = net.connect(path.join(at, SOCKET));
  try {
    await once(connection, 'connect');
    return true;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    // All else, as too many connections, is no proof that it is gone.
    return code !== 'ECONNREFUSED' && code !== 'ENOENT';
  } finally {
    connection.destroy();
  }
}

/** The paths that a session serves, which have to be the same in a container. */
export interface SessionAbout {
  /** The path below which programs find the objects. */
  readonly root: string;
  /** Whether there is nothing at that path, because the source is no directory. */
  readonly isImaginary: boolean;
  /** The directories of the tiers, fastest first. */
  readonly tiers: readonly string[];
}

/** Writes them down, for processes that start programs. */
export function writeAbout(directory: string, about: SessionAbout): void {
  fs.writeFileSync(path.join(directory, ABOUT), JSON.stringify(about), { mode: 0o600 });
}

/** The paths of the session in a directory; undefined if there is none. */
export function aboutSession(directory: string): SessionAbout | undefined {
  try {
    return JSON.parse(fs.readFileSync(path.join(directory, ABOUT), 'utf8')) as SessionAbout;
  } catch {
    // What is not whole yet is of no use to anybody either.
    return undefined;
  }
}
