import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Computes until its parent is gone, so that a parent that was killed leaves nothing behind that takes a
 * core.
 */
const LOOP = `
  const parent = process.ppid;
  while (process.ppid === parent) for (let i = 0; i < 1e8; i++);
`;

/** Runs work beside so many processes that do nothing but compute, and take a core each. */
export async function besideBusyLoops<T>(count: number, work: () => Promise<T>): Promise<T> {
  const loops = Array.from({ length: count }, () =>
    spawn(process.execPath, ['-e', LOOP], { stdio: 'ignore' }),
  );
  try {
    return await work();
  } finally {
    const ended = loops.map((loop) => once(loop, 'exit'));
    for (const loop of loops) loop.kill('SIGKILL');
    await Promise.all(ended);
  }
}
