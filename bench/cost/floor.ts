import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { writePaths } from '../lib/round-process.js';
import type { Cost } from './cost-of.js';
import type { Keeping } from './subject.js';

const run = promisify(execFile);

/** What C is to do. */
export interface FloorTask {
  readonly what: Keeping;
  readonly threads: number;
  /** Bytes of each file. */
  readonly bytes: number;
  /** The files that come first, and do not count; and the others. */
  readonly warm: readonly string[];
  readonly paths: readonly string[];
}

/** Compiles the program, whose `FloorTask` costs what the system and the hardware cost anybody. */
export async function compileFloor(scratch: string): Promise<(task: FloorTask) => Promise<Cost>> {
  const program = path.join(scratch, 'floor');
  const source = fileURLToPath(new URL('floor.c', import.meta.url));
  await run('cc', ['-O2', '-pthread', '-o', program, source]);
  return async ({ what, threads, bytes, warm, paths }) => {
    await mkdir(scratch, { recursive: true });
    const directory = await mkdtemp(path.join(scratch, 'floor-'));
    const lists = [await writePaths(scratch, warm), await writePaths(scratch, paths)];
    const { stdout } = await run(program, [what, String(threads), String(bytes), ...lists, directory]);
    await rm(directory, { recursive: true });
    const [user = Number.NaN, system = Number.NaN, wall = Number.NaN] = stdout
      .split(' ')
      .map((us) => Number(us) / paths.length);
    return { user, system, wall };
  };
}
