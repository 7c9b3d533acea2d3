import { TieredError } from '@tiered/core';
import type { Stats } from 'node:fs';
import fs from 'node:fs/promises';
import path from 'node:path';

/** The most links that are followed, as in Linux. */
const MOST_LINKS = 40;

const GROUP_WRITES = 0o020;
const OTHERS_WRITE = 0o002;
/** In a directory with this bit, users can remove and rename only their own files. */
const STICKY = 0o1000;

const ROOT = 0;

/** Users whose sockets are trusted, besides this user and root. */
export type Trust = readonly number[] | 'any';

/** Whether a user is trusted at the other end of a socket. */
export function isTrustedUser(user: number, trust: Trust): boolean {
  return trust === 'any' || [process.geteuid?.(), ROOT, ...trust].includes(user);
}

/**
 * Rejects a socket that another user may have put there, by the rules ssh applies to files. The socket, every
 * directory above it and every link on the way must belong to this user, to root or to a user in `trust`. No
 * other user may write to the directories, except to sticky ones such as /tmp. So only trusted users can
 * replace a checked file before it is opened. Checks nothing on systems where files have no owners (Windows).
 * @throws TieredError `TIERED_PERMISSION`, with the reason. For a path that does not exist, the system's
 * error.
 */
export async function assertTrusted(socketPath: string, trust: readonly number[]): Promise<void> {
  const user = process.geteuid?.();
  if (user === undefined) return;
  const trusted = new Set([user, ROOT, ...trust]);
  let links = 0;

  /**
   * Checks a name and everything that leads to it. Returns the path it leads to, without links. `..` has the
   * system's meaning.
   */
  async function follow(name: string): Promise<string> {
    const parent = path.dirname(name);
    const place = parent === name ? name : path.join(await follow(parent), path.basename(name));
    const stat = await fs.lstat(place);
    const fault = faultOf(stat, trusted);
    if (fault !== undefined) throw distrusted(socketPath, place, fault);
    if (!stat.isSymbolicLink()) return place;
    links += 1;
    if (links > MOST_LINKS) throw distrusted(socketPath, place, 'is one of too many links');
    return follow(from(path.dirname(place), await fs.readlink(place)));
  }

  await follow(from(process.cwd(), socketPath));
}

function faultOf(stat: Stats, trusted: ReadonlySet<number>): string | undefined {
  if (!trusted.has(stat.uid))
    return `belongs to user ${stat.uid}; name them in the option trust if you do trust them`;
  const isShared = stat.isDirectory() && (stat.mode & STICKY) === 0;
  // A group with the same id as its user is private to that user. Most Linux distributions make such groups.
  const groupWrites = (stat.mode & GROUP_WRITES) !== 0 && stat.gid !== stat.uid;
  if (!isShared || !(groupWrites || (stat.mode & OTHERS_WRITE) !== 0)) return undefined;
  return `is a directory that others may write to; forbid it (chmod go-w), or choose another`;
}

/**
 * Joins paths without `path.resolve`, which takes `link/..` for the directory of the link, not the one above
 * its target.
 */
function from(directory: string, name: string): string {
  return path.isAbsolute(name) ? name : `${directory}/${name}`;
}

function distrusted(socketPath: string, place: string, fault: string): TieredError {
  return new TieredError(
    'TIERED_PERMISSION',
    `The socket ${JSON.stringify(socketPath)} may be that of another user: ${JSON.stringify(place)} ${fault}.`,
  );
}
