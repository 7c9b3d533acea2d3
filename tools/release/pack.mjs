/**
 * Builds all packages and packs what is published: `npm run pack -- DIRECTORY [--all-platforms]`. With
 * `--all-platforms`, what is compiled is made for every platform, with zig; else for this machine.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { root } from './packages.mjs';
import { stagePackages } from './stage.mjs';

/**
 * @param {string} directory where the tarballs go
 * @param {{ allPlatforms?: boolean }} [options]
 * @throws if the build fails.
 */
export async function packAll(directory, { allPlatforms = false } = {}) {
  await build();
  await mkdir(directory, { recursive: true });
  const temporary = await mkdtemp(path.join(os.tmpdir(), 'tiered-staged-'));
  try {
    const staged = await stagePackages(temporary, { allPlatforms });
    execFileSync(
      'npm',
      ['pack', '--loglevel=error', '--ignore-scripts', '--pack-destination', directory, ...staged],
      {
        cwd: temporary,
        stdio: ['ignore', 'ignore', 'inherit'],
      },
    );
  } finally {
    await rm(temporary, { recursive: true });
  }
}

/** Builds all packages, and says which it has come to: it takes some minutes. */
async function build() {
  const child = spawn('npm', ['run', 'build'], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  const closed = once(child, 'close');
  const said = [];
  child.stderr.on('data', (text) => said.push(text));
  for await (const line of createInterface({ input: child.stdout })) {
    said.push(`${line}\n`);
    const [, name] = /^> (\S+)@\S+ build$/.exec(line) ?? [];
    if (name !== undefined) console.log(`building ${name}`);
  }
  const [status] = await closed;
  if (status !== 0) throw new Error(`The build failed; nothing was packed.\n${said.join('')}`);
}

if (process.argv[1] === import.meta.filename) {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { 'all-platforms': { type: 'boolean', default: false } },
  });
  const [directory] = positionals;
  if (directory === undefined) throw new Error('Say where to: npm run pack -- DIRECTORY [--all-platforms]');
  await packAll(path.resolve(directory), { allPlatforms: values['all-platforms'] });
  console.log(`The tarballs are in ${path.resolve(directory)}.`);
}
