import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { compile as compileShim } from '../../packages/interpose/src-c/compile.js';
import { compile as compileAddon } from '../../packages/native/src-c/compile.js';
import { compileIfPossible, platform as here } from '../c/compile.js';
import { assertGlibc } from './glibc.mjs';
import { readManifest, root } from './packages.mjs';
import { COMPILED, GLIBC } from './platforms.mjs';

/** Zig brings compilers and C libraries of all platforms: `python3 -m pip install ziglang==0.13.0`. */
const zig = (process.env['ZIG_CC'] ?? 'python3 -m ziglang cc').split(' ');

const COMPILERS = { native: compileAddon, interpose: compileShim };

/**
 * Makes packages with what is compiled, each in a directory named after it. Nothing is published, and what is
 * not for this machine is not run.
 *
 * @param {string} target the directory that they are made in
 * @param {{ all: boolean }} options `all` makes them for each platform, with zig. Else there are those for
 * this machine, with its own compiler, and none where it has no compiler or is of another kind.
 * @returns {Promise<{ short: string; directory: string }[]>} `short` is the package that needs it.
 */
export async function makePlatformPackages(target, { all }) {
  const made = [];
  for (const { short, platforms, keywords } of COMPILED) {
    for (const platform of platforms) {
      if (!all && platform.name !== here()) continue;
      const file = await (all ? compileByZig(short, platform) : compileHere(short));
      if (file === undefined) continue;
      made.push({ short, directory: await makePackage(target, { short, platform, keywords, file }) });
    }
  }
  return made;
}

async function compileByZig(short, { name, target, libc }) {
  const compiler = [...zig, '-target', target];
  const file = await COMPILERS[short]({ name: `zig-${name}`, compiler, flags: ['-O2', '-s'] });
  if (libc === 'glibc') await assertGlibc(file, GLIBC);
  return file;
}

const compileHere = (short) => compileIfPossible(`@tiered/${short}`, () => COMPILERS[short]());

async function makePackage(target, { short, platform: { name, cpu, libc }, keywords, file }) {
  const directory = path.join(target, `${short}-${name}`);
  const binary = path.basename(file);
  await mkdir(directory, { recursive: true });
  const { version, license, engines, homepage, bugs, repository } = await readManifest(
    path.join(root, 'packages', short),
  );
  const manifest = {
    name: `@tiered/${short}-${name}`,
    version,
    description: `What is compiled of @tiered/${short}, for ${name}.`,
    keywords,
    homepage,
    bugs,
    repository,
    license: `${license} AND BSD-2-Clause`,
    engines,
    os: ['linux'],
    cpu: [cpu],
    libc: [libc],
    ...(binary.endsWith('.node') && { main: binary }),
    files: [binary, 'LICENSE-xxHash'],
  };
  const readme = `# ${manifest.name}\n\nInstalled with [@tiered/${short}](${homepage}), and of no use without it.\n`;
  await writeFile(path.join(directory, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
  await writeFile(path.join(directory, 'README.md'), readme);
  await writeFile(path.join(directory, 'LICENSE-xxHash'), await licenceOfXxHash());
  await copyFile(path.join(root, 'LICENSE'), path.join(directory, 'LICENSE'));
  await copyFile(file, path.join(directory, binary));
  return directory;
}

/** It is compiled into each, and asks that its licence goes with binaries. */
async function licenceOfXxHash() {
  const source = await readFile(path.join(root, 'packages/native/src-c/vendor/xxhash.h'), 'utf8');
  const [, comment = ''] = /^\/\*\n([^]*?)\*\//.exec(source) ?? [];
  if (!comment.includes('BSD 2-Clause')) throw new Error('xxhash.h does not begin with its licence.');
  return comment.replace(/^ \* ?/gm, '');
}
