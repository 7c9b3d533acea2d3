#!/usr/bin/env node
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import os from 'node:os';
import { fileURLToPath } from 'node:url';

const args = process.argv.slice(2);
// Tests are not in what users install.
const isClone = existsSync(new URL('../test/', import.meta.url));

if (isClone) {
  // A clone runs its sources, built or not, in a Node that can load them.
  const sources = ['--conditions=tiered-source', '--import', import.meta.resolve('tsx')];
  const main = fileURLToPath(new URL('from-sources.js', import.meta.url));
  const child = spawn(process.execPath, [...sources, main, ...args], { stdio: 'inherit' });
  const passedOn = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'];
  for (const signal of passedOn) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => {
    // As shells do: a signal that comes when all is done, and nobody listens any more, ends it too.
    process.exitCode = signal === null ? (code ?? 1) : 128 + os.constants.signals[signal];
  });
} else {
  const { runTiered } = await import('../dist/cli/index.js');
  process.exitCode = await runTiered(args);
}
