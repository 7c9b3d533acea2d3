import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { hasErrno } from '../errors.js';

/** A socket that is bound and does not listen yet; to a connection it looks as one whose process died. */
const UNREADY = '.new';
/** How often to begin, where others clear up. */
const TRIES = 3;
/** Bytes of a socket's path, by the system's `sockaddr_un` less a little. */
const LONGEST_PATH = 100;
/** What a connection is refused with if nobody listens any more, and if there is nobody. */
const GONE = ['ECONNREFUSED', 'ENOENT'] as const;

/**
 * Shows to others that this process runs and uses a directory, for as long as it does: by a socket in the directory
 * that it listens at. The kernel closes it with the process (or the worker thread), however that ends, and tells so
 * whoever tries to connect, also from another container: a socket in a directory is found by the directory and by
 * nothing else, not by number, host name or network. A process that is stopped (SIGSTOP) is still there: the kernel
 * takes connections for it.
 */
export class Presence {
  /** Unlike that of any other. Also the beginning of the names of what belongs to it. */
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
      // Whoever comes to ask has the answer by being connected.
      const server = net.createServer((socket) => socket.destroy());
      const unready = id + UNREADY;
      // A directory that is missing has to be told as such, and binding tells it as EACCES.
      await fs.promises.access(directory);
      await reached(directory, unready, (socketPath) => listen(server, socketPath));
      try {
        // Only now, because between binding and listening it looks dead.
        await fs.promises.rename(path.join(directory, unready), path.join(directory, id));
        server.unref();
        return new Presence(id, directory, server);
      } catch (error) {
        server.close();
        // Somebody who cleared up saw it just then.
        if (!hasErrno(error, 'ENOENT') || tries === TRIES) throw error;
      }
    }
  }

  /** Whether others still find it: not so if the directory was emptied or is another one. */
  get isShown(): boolean {
    return fs.existsSync(path.join(this.#directory, this.id));
  }

  /** Ends. Idempotent. */
  end(): void {
    if (!this.#server.listening) return;
    this.#server.close();
    try {
      fs.rmSync(path.join(this.#directory, this.id), { force: true });
    } catch {
      // The directory may be another one now; to a connection nobody is there.
    }
  }
}

/** Whether the process behind an id runs; true if that cannot be known at the moment, as without free descriptors. */
export async function isPresent(directory: string, id: string): Promise<boolean> {
  try {
    await reached(directory, id, connect);
    return true;
  } catch (error) {
    return !hasErrno(error, ...GONE);
  }
}

/** Every id that there is, of processes that run, are gone, or were gone before others could know their id. */
export async function presences(directory: string): Promise<string[]> {
  try {
    return await fs.promises.readdir(directory);
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return [];
    throw error;
  }
}

/** Removes what an id left that is gone. */
export function removePresence(directory: string, id: string): Promise<void> {
  return fs.promises.rm(path.join(directory, id), { force: true });
}

/** Calls with the path of a socket; with another one for the same, if the kernel would not take it for its length. */
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
    // Exclusive: in a process of `node:cluster` it would be the primary that listens, and goes on when this one is
    // gone.
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
