import { configError } from '@tiered/core/internal';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** Memory, where there is such a directory: programs map what is in here. */
const SHARED_MEMORY = '/dev/shm';
const NAME = 'tiered-interpose-';
const TABLE = 'table';
const RING = 'ring';
const SOCKET = 'socket';
const TREE = 'tree';
const SPOOL = 'spool';
/** All that may be in the directory. */
const NAMES = [TABLE, `${TABLE}.new`, RING, SOCKET, TREE, SPOOL];
/** The longest path that a socket can have. */
const LONGEST_SOCKET = 107;
/** A daemon whose files were not written for so long is gone. The living ones write four times a second. */
const GONE_MS = 600_000;
/** Programs take a daemon for dead after 3 seconds. Who wants its place may take it after this. */
const SILENT_MS = 10_000;

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
}

/**
 * Makes a directory that only this user can enter. Those that daemons left behind which were killed go.
 * @param above Where. Default: `/dev/shm`, else that of temporary files.
 */
export function makeSessionDirectory(
  above = fs.existsSync(SHARED_MEMORY) ? SHARED_MEMORY : os.tmpdir(),
): SessionDirectory {
  const longest = LONGEST_SOCKET - NAME.length - '/XXXXXX/socket'.length;
  if (Buffer.byteLength(above) > longest)
    throw configError('directory', `a path of at most ${longest} bytes`, above);
  removeLeftovers(above);
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
  };
}

const filesOf = (directory: string): string[] => fs.readdirSync(directory);

/**
 * Makes that directory at a path that was agreed on.
 * @throws TieredError `TIERED_CONFIG_INVALID` if something is there that is not what a daemon left behind.
 */
export function makeSessionDirectoryAt(at: string): SessionDirectory {
  const longest = LONGEST_SOCKET - '/socket'.length;
  if (!path.isAbsolute(at) || Buffer.byteLength(at) > longest)
    throw configError('at', `an absolute path of at most ${longest} bytes`, at);
  const written = writtenIn(at);
  if (written !== undefined && isGone(written) && filesOf(at).every((name) => NAMES.includes(name)))
    fs.rmSync(at, { recursive: true, force: true });
  try {
    fs.mkdirSync(at, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw configError('at', 'a path at which there is nothing; is a daemon running there?', at);
  }
  return filesIn(at);
}

/** Programs that still look for it find nothing, and read the source. */
export function removeSessionDirectory({ path: directory }: SessionDirectory): void {
  fs.rmSync(directory, { recursive: true, force: true });
}

/** Whether a daemon lives whose session is in that directory. */
export function isServed(directory: string): boolean {
  const written = writtenIn(directory);
  return written !== undefined && !isGone(written);
}

function removeLeftovers(above: string): void {
  for (const name of fs.readdirSync(above)) {
    if (!name.startsWith(NAME)) continue;
    const directory = path.join(above, name);
    const written = writtenIn(directory);
    if (written !== undefined && isGone(written, GONE_MS))
      fs.rmSync(directory, { recursive: true, force: true });
  }
}

function isGone(written: number, afterMs = SILENT_MS): boolean {
  // The clock of files, which no other clock agrees with.
  // eslint-disable-next-line no-restricted-properties
  return Date.now() - written > afterMs;
}

/** When something in the directory was written last; undefined for what is not this user's. */
function writtenIn(directory: string): number | undefined {
  let written: number | undefined;
  for (const file of [directory, path.join(directory, RING), path.join(directory, TABLE)]) {
    const stat = fs.lstatSync(file, { throwIfNoEntry: false });
    if (stat === undefined) continue;
    if (stat.uid !== process.getuid?.() || (file === directory && !stat.isDirectory())) return undefined;
    written = Math.max(written ?? 0, stat.mtimeMs);
  }
  return written;
}
