// @ts-check
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { compile, INSTALL, platform as here } from '../src-c/compile.js';
import { PLATFORMS } from './platforms.js';

const own = path.join(import.meta.dirname, '..');
/** Zig brings compilers and C libraries of all platforms: `python3 -m pip install ziglang==0.13.0`. */
const zig = (process.env['ZIG_CC'] ?? 'python3 -m ziglang cc').split(' ');

/**
 * Makes packages with the addon, each in a directory named after it, and returns these directories. Nothing
 * is published, and what is not for this machine is not run.
 *
 * @param {string} target the directory that they are made in
 * @param {{ all: boolean }} options `all` makes one for each platform, with zig. Else there is one for this
 * machine, with its own compiler, and none where it has no compiler or is of another kind.
 */
export async function makePlatformPackages(target, { all }) {
  const made = [];
  for (const platform of PLATFORMS) {
    if (!all && platform.name !== here()) continue;
    const addon = all ? await compileByZig(platform) : await compileHere();
    if (addon !== undefined) made.push(await makePackage(target, platform, addon));
  }
  return made;
}

/** @param {(typeof PLATFORMS)[number]} platform */
function compileByZig({ name, target }) {
  return compile({ name: `zig-${name}`, compiler: [...zig, '-target', target], flags: ['-O2', '-s'] });
}

async function compileHere() {
  try {
    return await compile();
  } catch (error) {
    if (/** @type {{ code?: unknown }} */ (error).code !== 'ENOENT') throw error;
    console.log(`There will be no native part: there is no C compiler. To install one: ${INSTALL}`);
    return undefined;
  }
}

/**
 * @param {string} target
 * @param {(typeof PLATFORMS)[number]} platform
 * @param {string} addon
 */
async function makePackage(target, { name, cpu, libc }, addon) {
  const directory = path.join(target, `native-${name}`);
  await mkdir(directory, { recursive: true });
  const { version, license, engines, homepage, bugs, repository } = JSON.parse(
    await readFile(path.join(own, 'package.json'), 'utf8'),
  );
  const manifest = {
    name: `@tiered/native-${name}`,
    version,
    description: `The native part of @tiered/native for ${name}.`,
    keywords: ['tiered-storage', 'node-api', 'linux'],
    homepage,
    bugs,
    repository,
    license: `${license} AND BSD-2-Clause`,
    engines,
    os: ['linux'],
    cpu: [cpu],
    libc: [libc],
    main: 'tiered-native.node',
    files: ['tiered-native.node', 'LICENSE-xxHash'],
  };
  const readme = `# ${manifest.name}\n\nInstalled with [@tiered/native](${homepage}), and of no use without it.\n`;
  await writeFile(path.join(directory, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
  await writeFile(path.join(directory, 'README.md'), readme);
  await writeFile(path.join(directory, 'LICENSE-xxHash'), await licenceOfXxHash());
  await copyFile(path.join(own, 'LICENSE'), path.join(directory, 'LICENSE'));
  await copyFile(addon, path.join(directory, 'tiered-native.node'));
  return directory;
}

/** It is compiled into the addon, and asks that its licence goes with binaries. */
async function licenceOfXxHash() {
  const source = await readFile(path.join(own, 'src-c/vendor/xxhash.h'), 'utf8');
  const [, comment = ''] = /^\/\*\n([^]*?)\*\//.exec(source) ?? [];
  if (!comment.includes('BSD 2-Clause')) throw new Error('xxhash.h does not begin with its licence.');
  return comment.replace(/^ \* ?/gm, '');
}
