import { existsSync, readdirSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { accepts } from './asking.js';
import { NEWEST_NATS } from './build-nats.js';
import { onFreePort, Processes } from './processes.js';
import { missing, type Installation } from './real-server.js';

const NATS: Installation = {
  name: 'nats-server',
  programs: ['nats-server'],
  install: 'bash tools/servers/install.sh nats',
};

/** The command that installs nats-server; `undefined` if it is installed. */
export const missingForNats = (): string | undefined => missing(NATS);

/** The servers that are here: that of the system, and the newest if it was built. */
export function natsServers(): readonly { readonly name: string; readonly program: string }[] {
  const newest = existsSync(NEWEST_NATS);
  const installed = { name: 'nats-server of the system', program: 'nats-server' };
  return newest ? [installed, { name: 'the newest nats-server', program: NEWEST_NATS }] : [installed];
}

/** The machine that a server runs on. */
export interface Host {
  readonly address: string;
  /** The command that starts a program there, before the name of that. */
  readonly inside: readonly string[];
  /** Whether somebody listens on a port there. */
  accepts(port: number): Promise<boolean>;
}

const THIS_MACHINE: Host = { address: '127.0.0.1', inside: [], accepts };

/** A nats-server, with its storage in a temporary directory. */
export class NatsServer implements AsyncDisposable {
  readonly port: number;
  readonly #processes: Processes;
  readonly #program: string;
  readonly #args: readonly string[];
  readonly #host: Host;
  #storages = 0;

  private constructor(
    processes: Processes,
    program: string,
    args: readonly string[],
    port: number,
    host: Host,
  ) {
    this.#processes = processes;
    this.#program = program;
    this.#args = args;
    this.port = port;
    this.#host = host;
  }

  /**
   * @param program Its name or path.
   * @param args Beside its port and storage.
   * @param jetstream Whether it keeps anything.
   * @param host Default: this machine.
   * @throws Error with the end of its log.
   */
  static async start(
    program: string,
    args: readonly string[] = [],
    jetstream = true,
    host = THIS_MACHINE,
  ): Promise<NatsServer> {
    const all = jetstream ? [...args, '-js'] : args;
    const processes = new Processes(os.tmpdir(), 'tiered-nats-');
    try {
      return await onFreePort(async (port) => {
        const server = new NatsServer(processes, program, all, port, host);
        await server.restart();
        return server;
      });
    } catch (cause) {
      const logs = processes.endOfLogs();
      await processes.close();
      throw new Error(`nats-server did not start\n${logs}`, { cause });
    }
  }

  get url(): string {
    return `nats://${this.#host.address}:${this.port}`;
  }

  /** Starts it again after `kill`, and waits until it listens. */
  async restart({ keepStorage = true }: { readonly keepStorage?: boolean } = {}): Promise<void> {
    if (!keepStorage) this.#storages += 1;
    const { directory } = this.#processes;
    const storage = path.join(directory, `storage-${this.#storages}`);
    const { address, inside } = this.#host;
    const own = ['-a', address, '-p', String(this.port), '-sd', storage, '-P', this.#pidFile];
    const [command = '', ...args] = [...inside, this.#program, ...own, ...this.#args];
    await this.#processes.start('nats', command, args, () => this.#host.accepts(this.port));
  }

  /** Ends it at once, and waits until nobody listens. */
  async kill(): Promise<void> {
    process.kill(this.#pid, 'SIGKILL');
    while (await this.#host.accepts(this.port));
  }

  /** Stops it: it answers nothing, and its connections stay. Waits until all of its threads have stopped. */
  stop(): void {
    process.kill(this.#pid, 'SIGSTOP');
    const tasks = `/proc/${this.#pid}/task`;
    const isStopped = (task: string) => /\) T /.test(readFileSync(`${tasks}/${task}/stat`, 'utf8'));
    while (!readdirSync(tasks).every(isStopped));
  }

  /** Lets it go on after `stop`. */
  goOn(): void {
    process.kill(this.#pid, 'SIGCONT');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#processes.close();
  }

  get #pid(): number {
    return Number(readFileSync(this.#pidFile, 'utf8'));
  }

  get #pidFile(): string {
    return path.join(this.#processes.directory, 'nats.pid');
  }
}
