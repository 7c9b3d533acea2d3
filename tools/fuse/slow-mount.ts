import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, readdir, rmdir } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { promisify } from 'node:util';
import { compileOnce } from '../c/compile.js';

/** How slow a mount is. */
export interface SlowMountOptions {
  /** Milliseconds that each open waits. Calls wait at the same time. Default: 0. */
  readonly openMs?: number;
  /**
   * Milliseconds that each read waits; the kernel cuts what programs read into reads of at most 1 MiB.
   * Default: 0.
   */
  readonly readMs?: number;
  /** Milliseconds that each look-up of a name and each `stat` waits. Default: 0. */
  readonly statMs?: number;
  /**
   * Most milliseconds that are added to each of these waits, evenly drawn, where there is one. Default: 0.
   */
  readonly jitterMs?: number;
  /** Bytes a second that all reads share. Default: no bound. */
  readonly bytesPerSecond?: number;
  /**
   * Seconds for which the kernel may answer look-ups and `stat` itself. 0 lets each reach the mount. Default:
   * 1.
   */
  readonly cacheSeconds?: number;
}

/** What has reached a mount since it was made, or reset: requests of the kernel, and bytes that were read. */
export interface SlowMountCounts {
  readonly lookup: number;
  readonly getattr: number;
  readonly open: number;
  readonly read: number;
  readonly bytes: number;
  readonly release: number;
}

/** The command that installs what `SlowMount` needs. */
const INSTALL = 'bash tools/servers/install.sh fuse';
/** Below a mount; any process that reads through it may ask. */
const COUNTS_FILE = '.slow-fs-counts';
const RESET_FILE = '.slow-fs-reset';

const sources = import.meta.dirname;
const program = path.resolve(sources, '../../node_modules/.cache/slow-fs/slow-fs');
const FLAGS = [
  ...['-O2', '-D_GNU_SOURCE', '-D_FILE_OFFSET_BITS=64', '-DFUSE_USE_VERSION=312', '-I/usr/include/fuse3'],
];
const run = promisify(execFile);

/**
 * A directory seen through a slow file system (FUSE, `slow-fs.c`): reads block the thread that makes them, as
 * on a network file system, which a driver slowed down by timers does not show. Read-only; the kernel keeps
 * no bytes, so that every read counts.
 *
 * The mount is gone after `close`, and also when this process ends, however it ends. What is under way then
 * fails.
 */
export class SlowMount implements AsyncDisposable {
  /** Where it is mounted: a directory of its own below the system's temporary one. */
  readonly directory: string;
  readonly #server: ChildProcess;
  readonly #ended: Promise<unknown>;
  #closed: Promise<void> | undefined;

  private constructor(directory: string, server: ChildProcess, ended: Promise<unknown>) {
    this.directory = directory;
    this.#server = server;
    this.#ended = ended;
  }

  /** Why it cannot work here, with the command that installs what is missing; `undefined` if it can. */
  static async missing(): Promise<string | undefined> {
    try {
      const mount = await SlowMount.start(import.meta.dirname);
      await mount.close();
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  }

  /**
   * Mounts a directory. The program is compiled the first time.
   * @throws Error that names the command to install what is missing, or says why it cannot be mounted, which
   * needs /dev/fuse and root (or setuid fusermount3).
   */
  static async start(mirrored: string, options: SlowMountOptions = {}): Promise<SlowMount> {
    const command = await build();
    const directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-slow-'));
    // Of its own group, so that Ctrl-C in a terminal is for this process to act on.
    const server = spawn(command, [...flagsOf(options), mirrored, directory], { detached: true });
    const ended = once(server, 'close');
    const errors: Buffer[] = [];
    server.stderr.on('data', (chunk: Buffer) => errors.push(chunk));
    const ready = once(readline.createInterface(server.stdout), 'line').then(() => true);
    if (await Promise.race([ready, ended.then(() => false)])) {
      // A program that forgets `close` can end.
      server.stdout.destroy();
      server.stderr.destroy();
      server.unref();
      return new SlowMount(directory, server, ended);
    }
    await rmdir(directory);
    throw new Error(`Mounting a FUSE file system failed: ${Buffer.concat(errors).toString().trim()}`);
  }

  /** The process behind it. */
  get pid(): number {
    return this.#server.pid ?? -1;
  }

  /** What has reached it. Costs nothing that counts; blocks for some 100 us. */
  counts(): SlowMountCounts {
    return countsOfSlowMount(this.directory);
  }

  /** Counts from 0 again. */
  reset(): void {
    readFileSync(path.join(this.directory, RESET_FILE));
  }

  /**
   * Unmounts, and removes the directory, without waiting for calls under way. May be called more than once.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#server.ref();
    this.#server.stdin?.end();
    await this.#ended;
    if (this.#server.exitCode === 0) return;
    // It was killed, or unmounted by somebody else.
    await run('umount', ['-l', this.directory]).catch(() => undefined);
    await rmdir(this.directory);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** What has reached the slow mount at a directory, for processes that were only told where it is. */
export function countsOfSlowMount(directory: string): SlowMountCounts {
  return JSON.parse(readFileSync(path.join(directory, COUNTS_FILE), 'utf8')) as SlowMountCounts;
}

/** Resolves to the path of the program, which is compiled if its sources have changed. */
async function build(): Promise<string> {
  const files = (await readdir(sources)).filter((name) => name.endsWith('.c')).sort();
  try {
    return await compileOnce({
      command: ['cc', ...FLAGS, ...files, '-lfuse3', '-lpthread'],
      sources: [sources],
      file: program,
    });
  } catch (cause) {
    throw new Error(`The FUSE file system cannot be compiled. To install what it needs: ${INSTALL}`, {
      cause,
    });
  }
}

function flagsOf(options: SlowMountOptions): string[] {
  const { openMs = 0, readMs = 0, statMs = 0, jitterMs = 0, bytesPerSecond = 0, cacheSeconds = 1 } = options;
  const flags = {
    'open-ms': openMs,
    'read-ms': readMs,
    'stat-ms': statMs,
    'jitter-ms': jitterMs,
    'bytes-per-second': bytesPerSecond,
    'cache-seconds': cacheSeconds,
  };
  return Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
}
