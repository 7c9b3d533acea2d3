import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** Says that the directory is there. */
const SCRATCH = 'TIERED_TEST_SCRATCH';

/** Of properties outside of the nightly run: no change is to fail for cases that nobody has tried yet. */
const SEED = 1;

/**
 * Everything that tests keep in temporary directories is in one, which goes with the run: test processes are
 * ended before they can.
 */
export default async function setup(): Promise<() => void> {
  // So that drivers read as they do for users, if there is a compiler; else it says so, and how to install
  // one.
  await import('../packages/native/src-c/build.js');
  // Once for all projects: one directory in another makes paths that are too long for sockets.
  if (process.env[SCRATCH] !== undefined) return () => undefined;
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'tests-'));
  // As the directory above: other users, of whom there are some in tests, may look into what is theirs.
  fs.chmodSync(scratch, 0o755);
  process.env[SCRATCH] = scratch;
  process.env['TMPDIR'] = scratch;
  process.env['TIERED_SEED'] ??= String(process.env['TIERED_NIGHTLY'] === '1' ? seedOfCommit() : SEED);
  return () => {
    // Vitest in watch mode may set up again.
    Reflect.deleteProperty(process.env, SCRATCH);
    fs.rmSync(scratch, { recursive: true, force: true });
  };
}

/** A number that is the same in all runs of a commit; a random one where there is no repository. */
function seedOfCommit(): number {
  try {
    return Number.parseInt(execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).slice(0, 7), 16);
  } catch {
    return randomInt(2 ** 28);
  }
}
