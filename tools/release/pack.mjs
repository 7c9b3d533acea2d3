/**
 * Builds all packages and packs what is published: `npm run pack -- DIRECTORY [--all-platforms]`. With
 * `--all-platforms`, what is compiled is made for every platform, with zig; else for this machine.
 */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { root } from './packages.mjs';
import { stagePackages } from './stage.mjs';

/**
 * @param {string} directory where the tarballs go
 * @param {{ allPlatforms?: boolean }} [options]
 * @throws if the build fails.
 */
export async function packAll(directory, { allPlatforms = false } = {}) {
  execFileSync(process.execPath, ['tools/build.mjs'], { cwd: root, stdio: 'inherit' });
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
