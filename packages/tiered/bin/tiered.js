#!/usr/bin/env node
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const built = new URL('../dist/cli/index.js', import.meta.url);
const args = process.argv.slice(2);

if (existsSync(built)) {
  const { runTiered } = await import(built.href);
  process.exitCode = await runTiered(args);
} else {
  // A clone that was not built: its sources, in a Node that can load them.
  const sources = ['--conditions=tiered-source', '--import', import.meta.resolve('tsx')];
  const main = fileURLToPath(new URL('from-sources.js', import.meta.url));
  const child = spawn(process.execPath, [...sources, main, ...args], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => {
    process.exitCode = signal === null ? (code ?? 1) : 1;
  });
}
