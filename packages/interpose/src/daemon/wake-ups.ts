import fs from 'node:fs';
import net from 'node:net';
import { once } from 'node:events';

/** Programs that connect wake the daemon. */
export class WakeUps {
  readonly #server = net.createServer();
  #wake: (() => void) | undefined;

  /** @param path Of the socket, which only this user can open. */
  static async at(path: string): Promise<WakeUps> {
    const wakeUps = new WakeUps();
    wakeUps.#server.on('connection', (connection) => {
      connection.on('error', () => undefined).destroy();
      wakeUps.#wake?.();
    });
    wakeUps.#server.listen(path);
    await once(wakeUps.#server, 'listening');
    // Without wake-ups the daemon looks four times a second.
    wakeUps.#server.on('error', () => undefined);
    fs.chmodSync(path, 0o600);
    return wakeUps;
  }

  /** Resolves when a program connects from now on. */
  next(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve));
  }

  async close(): Promise<void> {
    this.#wake?.();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
