/**
 * Publishes tarballs that `npm run pack` made and `npm run packages` has checked: `npm run release:publish --
 * DIRECTORY [npm's options]`, such as `--dry-run`. What a package depends on comes before it, and what the
 * registry has already is left out: after a failure, run it again.
 */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { publishedPackages } from './packages.mjs';
import { PLATFORM_PACKAGES } from './platforms.mjs';
import { unpackTarballs } from './tarballs.mjs';

/** A release is everything, of one version: a part of it would install with parts of another. */
async function missingIn(packages) {
  const published = (await publishedPackages()).map(({ manifest }) => manifest);
  const needed = [...published.map(({ name }) => name), ...PLATFORM_PACKAGES];
  const [{ version }] = published;
  if (version === '0.0.0') throw new Error('This is no version: npm run release:version');
  const packed = new Set(packages.map(({ manifest }) => `${manifest.name}@${manifest.version}`));
  return needed.map((name) => `${name}@${version}`).filter((name) => !packed.has(name));
}

/** @throws if the registry does not say. */
function isPublished(name) {
  const { status, stdout, stderr } = spawnSync('npm', ['view', name, 'version', '--json'], {
    encoding: 'utf8',
  });
  // A version that is missing of a package that is there is no error to npm.
  if (status === 0) return stdout.trim() !== '';
  if (JSON.parse(stdout).error.code === 'E404') return false;
  throw new Error(`Whether ${name} is published cannot be found out: ${stderr}`);
}

function publish(tarball, options) {
  const { status } = spawnSync('npm', ['publish', tarball, '--access', 'public', ...options], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (status !== 0) throw new Error(`${path.basename(tarball)} was not published.`);
}

const [directory, ...options] = process.argv.slice(2);
if (directory === undefined) throw new Error('Say what: npm run release:publish -- DIRECTORY');
const temporary = await mkdtemp(path.join(os.tmpdir(), 'tiered-publish-'));
try {
  const packages = await unpackTarballs(path.resolve(directory), temporary);
  const missing = await missingIn(packages);
  if (missing.length > 0) throw new Error(`Pack all platforms first; missing: ${missing.join(', ')}`);
  for (const { tarball, manifest } of packages) {
    const name = `${manifest.name}@${manifest.version}`;
    if (isPublished(name)) console.log(`${name} is published already`);
    else publish(tarball, options);
  }
} finally {
  await rm(temporary, { recursive: true });
}
