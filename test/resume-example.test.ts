import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

/** Sends a signal that comes a second time, as `npx tsx` does: it and the terminal both send it. */
const TWICE = `data:text/javascript,process.once('SIGINT', () => setImmediate(() => process.kill(process.pid, 'SIGINT')));`;

it('examples/resume.ts goes on where it stood after a Ctrl-C that comes twice', async () => {
  const options = ['--conditions=tiered-source', '--import', 'tsx', '--import', TWICE];
  const { stdout } = await promisify(execFile)(process.execPath, [...options, 'examples/resume.ts'], {
    cwd: path.join(import.meta.dirname, '..'),
  });
  expect(stdout).toBe('run 1: 14 of 30 samples, stopped by a signal\nrun 2: 30 of 30 samples, done\n');
});
