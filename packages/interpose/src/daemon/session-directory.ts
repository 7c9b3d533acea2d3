import { configError } from '@tiered/core/internal';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** Memory, where there is such a directory: programs map what is in here. */
const SHARED_MEMORY = '/dev/shm';
const NAME = 'tiered-interpose-';
const TABLE = 'table';
const RING = 'ring';
/** The longest path that a socket can have. */
const LONGEST_SOCKET = 107;
/** A daemon whose files were not written for so long is gone. The living ones write four times a second. */
const GONE_MS = 600_000;

/** The files through which programs and the daemon talk to each other. */
export interface SessionDirectory {
  readonly path: string;
  readonly table: string;
  readonly ring: string;
  readonly socket: string;
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
  const directory = fs.mkdtempSync(path.join(above, NAME));
  const inside = (name: string) => path.join(directory, name);
  return { path: directory, table: inside(TABLE), ring: inside(RING), socket: inside('socket') };
}

/** Programs that still look for it find nothing, and read the source. */
export function removeSessionDirectory({ path: directory }: SessionDirectory): void {
  fs.rmSync(directory, { recursive: true, force: true });
}

function removeLeftovers(above: string): void {
  for (const name of fs.readdirSync(above)) {
    if (!name.startsWith(NAME)) continue;
    const directory = path.join(above, name);
    const written = writtenIn(directory);
    // The clock of files, which no other clock agrees with.
    // eslint-disable-next-line no-restricted-properties
    if (written !== undefined && Date.now() - written > GONE_MS)
      fs.rmSync(directory, { recursive: true, force: true });
  }
}

/** When something in the directory was written last; undefined for what is not this user's. */
function writtenIn(directory: string): number | undefined {
  let written: number | undefined;
  for (const file of [directory, path.join(directory, RING), path.join(directory, TABLE)]) {
    const stat = fs.lstatSync(file, { throwIfNoEntry: false });
    if (stat === undefined) continue;
    if (stat.uid !== process.getuid?.()) return undefined;
    written = Math.max(written ?? 0, stat.mtimeMs);
  }
  return written;
}
