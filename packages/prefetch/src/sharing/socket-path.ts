import { TieredError } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';

/** While a stale socket is being replaced, the new one has this name too. */
const LOCK = '.lock';

/** What the shortest address of a UNIX domain socket holds (103 in macOS; Linux has 4 more), less the suffix. */
const MAX_PATH_BYTES = 103 - LOCK.length;

/** Name of the socket in the private directory where it is made. */
const NEW = 's';

/** Refuses paths that no socket can have; the system would cut them, and use another name. */
export function assertSocketPath(socketPath: string): void {
  const fits = typeof socketPath === 'string' && socketPath !== '' && !socketPath.includes('\0');
  if (fits && Buffer.byteLength(socketPath) <= MAX_PATH_BYTES) return;
  throw configError('path', `a path of 1 to ${MAX_PATH_BYTES} bytes`, socketPath);
}

/**
 * Makes `server` listen on a path that only this user can open: the socket is made in a private directory beside it, gets
 * its mode 0600 there, and is then linked to the path, which fails if something is there. A socket that nobody listens
 * on any more, left behind by a process that was killed, is removed first.
 * @returns Removes the path, if it still leads to this socket.
 * @throws TieredError `TIERED_CONFIG_INVALID` if a living server or anything that is no socket has the path, or the
 * directory does not take a socket.
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
 * Removes a socket that nobody listens on. Of several servers that start one at a time may do so, lest one removes what
 * another has put there: the one that has the lock, which is its socket, so that the lock of a dead process is known for
 * that. (Should several find such a lock at the same moment, two of them may get it.)
 */
async function removeStale(made: string, socketPath: string): Promise<void> {
  const lock = socketPath + LOCK;
  if (!(await linked(made, lock))) {
    const use = await useOf(lock);
    if (use === 'living') throw inUse(socketPath);
    if (use === 'stale') await fs.rm(lock, { force: true });
    return;
  }
  try {
    // Another server may have had the lock in between.
    if ((await useOf(socketPath)) === 'living') throw inUse(socketPath);
    await fs.rm(socketPath, { force: true });
  } finally {
    await fs.rm(lock, { force: true });
  }
}

/** Gives a file another name; false if something has that name. */
async function linked(file: string, name: string): Promise<boolean> {
  try {
    await fs.link(file, name);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** What is there: a socket that nobody listens on is stale, what is no socket is living, as it is not to be removed. */
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
    // Any other answer, such as that its queue is full, comes from somebody.
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
