import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { truncateSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';

const MIB = 1024 * 1024;

/** Why no disk can be frozen here; undefined if one can. */
export function whyNoFrozenDisk(): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    return 'root on Linux, for mount and fsfreeze';
  for (const tool of ['mkfs.ext4', 'fsfreeze'])
    if (spawnSync(tool, ['-V']).error !== undefined) return 'apt-get install e2fsprogs util-linux';
  return spawnSync('losetup', ['-f']).status === 0 ? undefined : 'loop devices';
}

/**
 * Mounts a disk that can be frozen: a file system that takes no writes then, and keeps those who write
 * waiting. The shell that does it is told by a pipe, which ends with the test, however that ends. Then it
 * thaws the disk and takes it away, because what waits for a frozen disk cannot be killed.
 */
const SHELL = `
  mount -o loop "$1" "$2" || exit 1
  echo mounted
  while read how; do fsfreeze "$how" "$2"; echo "$how"; done
  fsfreeze -u "$2" 2>/dev/null
  umount "$2" || umount -l "$2"
`;

/** A disk of its own, an ext4 in a file. */
export class FrozenDisk {
  /** Where it is mounted. */
  readonly path: string;
  readonly #directory: string;
  readonly #shell: ReturnType<typeof spawn>;
  readonly #lines: AsyncIterator<string>;

  private constructor(directory: string) {
    this.#directory = directory;
    this.path = path.join(directory, 'disk');
    const args = ['-c', SHELL, 'sh', path.join(directory, 'image'), this.path];
    this.#shell = spawn('sh', args, { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
    if (this.#shell.stdout === null) throw new Error('no pipe');
    this.#lines = readline.createInterface(this.#shell.stdout)[Symbol.asyncIterator]();
  }

  static async make(bytes = 64 * MIB): Promise<FrozenDisk> {
    const directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-frozen-'));
    const image = path.join(directory, 'image');
    await writeFile(image, '');
    truncateSync(image, bytes);
    execFileSync('mkfs.ext4', ['-q', '-F', image]);
    await mkdir(path.join(directory, 'disk'));
    const disk = new FrozenDisk(directory);
    await disk.#lines.next();
    return disk;
  }

  freeze(): Promise<void> {
    return this.#tell('-f');
  }

  thaw(): Promise<void> {
    return this.#tell('-u');
  }

  /** Thaws it, and takes it away. */
  async close(): Promise<void> {
    const ended = once(this.#shell, 'exit');
    this.#shell.stdin?.end();
    await ended;
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #tell(how: string): Promise<void> {
    this.#shell.stdin?.write(`${how}\n`);
    await this.#lines.next();
  }
}
