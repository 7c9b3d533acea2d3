import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { hasErrno } from '../errors.js';
import { makeDirectory, PRIVATE } from '../write/file-writes.js';

/** Suffix of a directory in which a socket is made. To a connection it looks like a dead process. */
const UNREADY = '.new';
/** The name of a socket in that directory, which is bound and may not listen yet. */
const SOCKET = 's';
/**
 * Only the owner may connect. Without the right to write, a connection fails as if the answer were unknown.
 */
const MODE = 0o600;
/** Tries to begin while others clean up at the same time. */
const TRIES = 3;
/** The most bytes of a socket's path: a little less than the limit of the system's `sockaddr_un`. */
const LONGEST_PATH = 100;
/** Errors of a connection if no process listens any more, and if there is no socket. */
const GONE = ['ECONNREFUSED', 'ENOENT'] as const;

/**
 * Shows others that this process runs and uses a directory, for as long as it does. It listens on a socket in
 * the directory. The kernel closes the socket with the process (or the worker thread), however that ends, and
 * refuses later connections, even from another container. Only the directory leads to the socket, not a
 * number, a host name or a network. A process that is stopped (SIGSTOP) still counts as running, because the
 * kernel accepts connections for it.
 */
export class Presence {
  /** A unique id. It is the prefix of the names of this presence's files. */
  readonly id: string;
  readonly #directory: string;
  readonly #server: net.Server;

  private constructor(id: string, directory: string, server: net.Server) {
    this.id = id;
    this.#directory = directory;
    this.#server = server;
  }

  /** Begins. @throws errors of the system, such as EMFILE. */
  static async begin(directory: string): Promise<Presence> {
    for (let tries = 1; ; tries++) {
      const id = randomUUID();
      // The connection itself is the answer.
      const server = net.createServer((socket) => socket.destroy());
      try {
        await make(server, directory, id);
        server.unref();
        return new Presence(id, directory, server);
      } catch (error) {
        server.close();
        // Another process has just cleaned up.
        if (!hasErrno(error, 'ENOENT') || tries === TRIES) throw error;
      }
    }
  }

  /** Whether others still find it. They do not if the directory was emptied or replaced. */
  isShown(): Promise<boolean> {
    return fs.promises.access(path.join(this.#directory, this.id)).then(
      () => true,
      () => false,
    );
  }

  /** Ends, at once for others. Resolves when nothing is left of it. Idempotent. */
  async end(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    // The directory may have been replaced. A connection then finds no process there.
    await removePresence(this.#directory, this.id).catch(() => undefined);
  }
}

/**
 * Makes a listening socket, and gives it its name. It is renamed only then, because a socket looks dead
 * between binding and listening.
 *
 * The event loop itself binds a socket, and removes the bound path when the server closes. Neither may wait
 * for storage that hangs. So the socket is bound in a directory of its own. Another thread creates that,
 * which shows that the storage accepts names. Later the bound path no longer exists, so there is nothing to
 * remove.
 */
async function make(server: net.Server, directory: string, id: string): Promise<void> {
  const unready = path.join(directory, id + UNREADY);
  await makeDirectory(unready, PRIVATE, false);
  try {
    const bound = path.join(unready, SOCKET);
    await reached(unready, SOCKET, (socketPath) => listen(server, socketPath));
    await fs.promises.chmod(bound, MODE);
    await fs.promises.rename(bound, path.join(directory, id));
  } catch (error) {
    // Binding in a directory that is gone fails with EACCES, which would mislead.
    await fs.promises.access(unready);
    throw error;
  } finally {
    await removePresence(directory, id + UNREADY);
  }
}

/**
 * Whether the process with an id runs. True if that cannot be known now, for example without free
 * descriptors.
 */
export async function isPresent(directory: string, id: string): Promise<boolean> {
  try {
    // The event loop itself connects. Another thread checks first, as the storage may hang.
    await fs.promises.lstat(path.join(directory, id));
    await reached(directory, id, connect);
    return true;
  } catch (error) {
    return !hasErrno(error, ...GONE);
  }
}

/**
 * Resolves to all ids: of processes that run, that are gone, or that were gone before others could know their
 * id.
 */
export async function presences(directory: string): Promise<string[]> {
  try {
    return await fs.promises.readdir(directory);
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return [];
    throw error;
  }
}

/** Removes the files of an id whose process is gone. */
export function removePresence(directory: string, id: string): Promise<void> {
  return fs.promises.rm(path.join(directory, id), { recursive: true, force: true });
}

/** Calls with the path of a socket, or with another path to it if the first is too long for the kernel. */
async function reached<T>(
  directory: string,
  name: string,
  call: (socketPath: string) => Promise<T>,
): Promise<T> {
  const plain = path.join(directory, name);
  if (Buffer.byteLength(plain) <= LONGEST_PATH || process.platform !== 'linux') return call(plain);
  const handle = await fs.promises.open(directory, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY);
  try {
    return await call(`/proc/self/fd/${handle.fd}/${name}`);
  } finally {
    await handle.close();
  }
}

function listen(server: net.Server, socketPath: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    // Exclusive, because in a process of `node:cluster` the primary would listen, and continue after this
    // process is gone.
    server.listen({ path: socketPath, exclusive: true }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function connect(socketPath: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ path: socketPath });
    socket.once('connect', () => {
      socket.destroy();
      resolve();
    });
    socket.once('error', reject);
  });
}
