import { execFile } from 'node:child_process';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { publishedPackages, readManifest, root } from './packages.mjs';
import { makePlatformPackages } from './platform-packages.mjs';

const run = promisify(execFile);

/**
 * Copies what each package publishes into a directory of its own below `target`, with the manifest that users
 * get, and returns these directories. The tree stays as it is: nothing there must be put back.
 *
 * @param {string} target
 * @param {{ allPlatforms: boolean }} options as `all` of `makePlatformPackages`
 */
export async function stagePackages(target, { allPlatforms }) {
  const platforms = await makePlatformPackages(target, { all: allPlatforms });
  const files = await filesOfPackages();
  const staged = [];
  for (const { short, directory, manifest } of await publishedPackages()) {
    const to = path.join(target, short);
    for (const file of files.get(manifest.name) ?? []) {
      await mkdir(path.dirname(path.join(to, file)), { recursive: true });
      await copyFile(path.join(directory, file), path.join(to, file));
    }
    const binaries = platforms.filter((platform) => platform.short === short);
    const published = publishedManifest(manifest, await optionalOf(binaries));
    await writeFile(path.join(to, 'package.json'), `${JSON.stringify(published, undefined, 2)}\n`);
    staged.push(to);
  }
  return [...platforms.map(({ directory }) => directory), ...staged];
}

/** What npm would pack of each package, by the package's name. */
async function filesOfPackages() {
  const dryRun = ['pack', '--dry-run', '--ignore-scripts', '--workspaces', '--json'];
  const { stdout } = await run('npm', dryRun, { cwd: root, maxBuffer: 64 * 2 ** 20 });
  return new Map(JSON.parse(stdout).map(({ name, files }) => [name, files.map((file) => file.path)]));
}

/** Without what only this repository can use: its sources, its scripts and its tools. */
function publishedManifest(manifest, optionalDependencies) {
  const published = without(manifest, 'scripts', 'devDependencies');
  published.exports = mapValues(published.exports, forUsers);
  if (Object.keys(optionalDependencies).length > 0) published.optionalDependencies = optionalDependencies;
  return published;
}

function forUsers(target) {
  return typeof target === 'string' ? target : without(target, 'tiered-source');
}

function without(object, ...names) {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
}

function mapValues(object, change) {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));
}

/** npm installs of these the one that fits the machine. */
async function optionalOf(platforms) {
  const manifests = await Promise.all(platforms.map(({ directory }) => readManifest(directory)));
  return Object.fromEntries(manifests.map(({ name, version }) => [name, version]));
}
