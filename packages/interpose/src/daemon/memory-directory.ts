import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { hasDaemonAt, SHARED_MEMORY, silentMs, SOCKET } from './session-directory.js';

const NAME = 'tiered-memory-';
/** Milliseconds for which one that is being made may be without its socket. */
const MADE_MS = 10_000;

/**
 * A directory in memory for tiers that end with this process. Only this user can enter it. The kernel closes
 * its socket with the process, however that ends; the next one that is made removes what is left then.
 */
export class MemoryDirectory implements AsyncDisposable {
  readonly path: string;
  readonly #server: net.Server;

  /**
   * Makes one, and removes those whose processes are gone.
   * @param above Where. Default: `/dev/shm`, else that of temporary files.
   */
  static async make(
    above = fs.existsSync(SHARED_MEMORY) ? SHARED_MEMORY : os.tmpdir(),
  ): Promise<MemoryDirectory> {
    await removeLeftBehind(above);
    const directory = fs.mkdtempSync(path.join(above, NAME));
    const server = net.createServer((connection) => connection.destroy());
    server.listen(path.join(directory, SOCKET)).unref();
    await once(server, 'listening');
    return new MemoryDirectory(directory, server);
  }

  private constructor(directory: string, server: net.Server) {
    this.path = fs.realpathSync(directory);
    this.#server = server;
  }

  /** Removes it with all that is in it. Idempotent. */
  async close(): Promise<void> {
    fs.rmSync(this.path, { recursive: true, force: true });
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Calls `close`, at the end of an `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

async function removeLeftBehind(above: string): Promise<void> {
  for (const name of fs.readdirSync(above)) {
    if (!name.startsWith(NAME)) continue;
    const directory = path.join(above, name);
    const silent = silentMs(directory);
    if (silent === undefined || (await hasDaemonAt(directory))) continue;
    if (silent > MADE_MS || fs.existsSync(path.join(directory, SOCKET)))
      fs.rmSync(directory, { recursive: true, force: true });
  }
}
