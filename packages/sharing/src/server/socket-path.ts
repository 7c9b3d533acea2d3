import { TieredError } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';

/**
 * Suffix of the directory beside a stale socket that is being replaced. It holds the socket of the server
 * that replaces it.
 */
const LOCK = '.lock';

/**
 * A little less than the shortest limit for a UNIX domain socket address: 103 bytes in macOS; Linux has 4
 * more.
 */
const MAX_PATH_BYTES = 98;

/** Name of a new socket in its private directory. */
const NEW = 's';

/** Rejects paths that no socket can have. The system would cut them, and use another name. */
export function assertSocketPath(socketPath: string): void {
  const fits = typeof socketPath === 'string' && socketPath !== '' && !socketPath.includes('\0');
  if (fits && Buffer.byteLength(socketPath) <= MAX_PATH_BYTES) return;
  throw configError('path', `a path of 1 to ${MAX_PATH_BYTES} bytes`, socketPath);
}

/**
 * Makes `server` listen on a path that only this user can open. The socket is made in a private directory
 * beside the path, and gets its mode 0600 there. It is then linked to the path, which fails if the path
 * exists. A stale socket, left behind by a killed process, is removed first.
 * @returns A function that removes the path, if it still leads to this socket.
 * @throws TieredError `TIERED_CONFIG_INVALID` if the path belongs to a live server or is no socket, or if the
 * directory cannot hold a socket.
 */
export async function listenPrivately(server: net.Server, socketPath: string): Promise<() => Promise<void>> {
  assertSocketPath(socketPath);
  const directory = await fs.mkdtemp(path.join(path.dirname(socketPath), '.s')).catch((cause: unknown) => {
    throw unusable(socketPath, cause);
  });
  try {
    const made = path.join(directory, NEW);
    assertSocketPath(made);
    server.listen(made);
    await once(server, 'listening');
    await fs.chmod(made, 0o600);
    await publish(made, socketPath);
    const { dev, ino } = await fs.lstat(made);
    return async () => {
      const now = await fs.lstat(socketPath).catch(() => undefined);
      if (now?.dev === dev && now.ino === ino) await fs.rm(socketPath, { force: true });
    };
  } catch (error) {
    server.close();
    throw error instanceof TieredError ? error : unusable(socketPath, error);
  } finally {
    await fs.rm(directory, { recursive: true, force: true });
  }
}

async function publish(made: string, socketPath: string): Promise<void> {
  while (!(await linked(made, socketPath))) {
    if ((await useOf(socketPath)) === 'living') throw inUse(socketPath);
    await removeStale(made, socketPath);
  }
}

/**
 * Removes a stale socket. Several servers may start at the same time, and one must not remove a socket that
 * another has just made. So only the server that has the lock removes anything.
 */
async function removeStale(made: string, socketPath: string): Promise<void> {
  const unlock = await locked(made, socketPath);
  try {
    // Another server may have had the lock in between. A live socket belongs to it.
    const use = await useOf(socketPath);
    if (use === 'living') throw inUse(socketPath);
    if (use === 'stale') await fs.rm(socketPath, { force: true });
  } finally {
    await unlock();
  }
}

/**
 * Takes the lock. The lock is a directory that holds its owner's socket, under a name that nothing else has.
 * It is made elsewhere and moved into place, which the system does only if there is no directory there, or an
 * empty one. So the lock never exists without its owner's socket. The lock of a dead owner can be recognised
 * and removed. A removal by name never affects another server.
 * @throws TieredError `TIERED_CONFIG_INVALID` if a live server has the lock.
 */
async function locked(made: string, socketPath: string): Promise<() => Promise<void>> {
  const lock = socketPath + LOCK;
  const own = path.dirname(made);
  const name = path.basename(own);
  const directory = path.join(own, 'lock');
  await fs.mkdir(directory);
  await fs.link(made, path.join(directory, name));
  while (!(await movedInto(directory, lock))) {
    if (await isHeld(lock, own)) throw inUse(socketPath);
  }
  return async () => {
    await fs.rm(path.join(lock, name), { force: true });
    // This fails if another server has the lock by now.
    await fs.rmdir(lock).catch(() => undefined);
  };
}

/** Whether a live server has the lock. Removes the sockets of dead servers there. */
async function isHeld(lock: string, own: string): Promise<boolean> {
  for (const name of await fs.readdir(lock).catch(noneIfGone)) {
    const entry = path.join(lock, name);
    // The entry's own name may be too long for an address.
    const seen = path.join(own, 'o');
    try {
      await fs.link(entry, seen);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue;
      throw error;
    }
    const use = await useOf(seen);
    await fs.rm(seen, { force: true });
    if (use === 'living') return true;
    await fs.rm(entry, { force: true });
  }
  return false;
}

function noneIfGone(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT') return [];
  throw error;
}

/** Moves a directory to a place that has none, or an empty one. False if the place is taken. */
async function movedInto(directory: string, place: string): Promise<boolean> {
  try {
    await fs.rename(directory, place);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOTEMPTY' || code === 'EEXIST') return false;
    throw error;
  }
}

/** Gives a file another name. False if the name is taken. */
async function linked(file: string, name: string): Promise<boolean> {
  try {
    await fs.link(file, name);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Inspects a path. A socket without a listener is stale. Anything but a socket counts as living, because it
 * must not be removed.
 */
async function useOf(socketPath: string): Promise<'none' | 'stale' | 'living'> {
  const stat = await fs.lstat(socketPath).catch(() => undefined);
  if (stat === undefined) return 'none';
  if (!stat.isSocket()) return 'living';
  const socket = net.connect(socketPath);
  try {
    await once(socket, 'connect');
    return 'living';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return 'none';
    // Any other answer, such as a full queue, comes from a live server.
    return code === 'ECONNREFUSED' ? 'stale' : 'living';
  } finally {
    socket.destroy();
  }
}

function inUse(socketPath: string): TieredError {
  return configError('path', 'one that nothing else is using', socketPath);
}

function unusable(socketPath: string, cause: unknown): TieredError {
  return new TieredError(
    'TIERED_CONFIG_INVALID',
    `path: no socket can be made at ${JSON.stringify(socketPath)}; its directory must exist, be writable, and take sockets.`,
    { cause },
  );
}
