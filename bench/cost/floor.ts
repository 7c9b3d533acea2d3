import { execFile } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { compileC } from '../lib/compile.js';
import { writePaths } from '../lib/round-process.js';
import type { Cost } from './cost-of.js';
import type { Keeping } from './subject.js';

const run = promisify(execFile);

/** A task for C. */
interface FloorTask {
  readonly what: Keeping;
  readonly threads: number;
  /** Bytes of each file. */
  readonly bytes: number;
  /** The files that come first, and do not count; and the others. */
  readonly warm: readonly string[];
  readonly paths: readonly string[];
}

/**
 * Does a task in C, which costs as much as the system and the hardware cost anybody. Its files stay: for
 * minutes after a file was deleted, ext4 passes over its inode again and again, and whoever makes files then
 * pays for that.
 */
export type Floor = (task: FloorTask) => Promise<Cost>;

/** Compiles the program in C. */
export async function compileFloor(scratch: string): Promise<Floor> {
  const program = await compileC(new URL('floor.c', import.meta.url), scratch, ['-pthread']);
  return async ({ what, threads, bytes, warm, paths }) => {
    const directory = await mkdtemp(path.join(scratch, 'floor-'));
    const lists = [await writePaths(scratch, warm), await writePaths(scratch, paths)];
    const { stdout } = await run(program, [what, String(threads), String(bytes), ...lists, directory]);
    const [user = Number.NaN, system = Number.NaN, wall = Number.NaN] = stdout
      .split(' ')
      .map((us) => Number(us) / paths.length);
    return { user, system, wall };
  };
}
