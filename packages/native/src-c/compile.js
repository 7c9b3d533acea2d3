// @ts-check
import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';
import { familySync } from 'detect-libc';

/** What to say where there is no compiler. */
export const INSTALL = 'apt-get install gcc libc6-dev';

const sources = import.meta.dirname;
const run = promisify(execFile);

/**
 * Compiles the addon for this machine, unless that was done from these sources already, and returns its path.
 * Takes a second.
 *
 * @param {{ name?: string; compiler?: readonly string[]; flags?: readonly string[] }} [options] `name` is the
 * directory below build/, by default that of the platform; `compiler` a command, by default `cc`; `flags` go
 * behind those that it has anyway.
 * @returns {Promise<string>}
 * @throws an error of code `ENOENT` if there is no compiler; else the compiler's.
 */
export async function compile({ name, compiler = ['cc'], flags = ['-O2', '-g'] } = {}) {
  const directory = path.join(sources, '../build', name ?? platform());
  const addon = path.join(directory, 'tiered-native.node');
  const [command = 'cc', ...first] = compiler;
  const files = (await readdir(sources)).filter((file) => file.endsWith('.c')).sort();
  const all = [...first, ...FLAGS, ...flags, `-I${headers()}`, ...files];
  const digest = await digestOf([command, ...all]);
  const known = await readFile(`${addon}.digest`, 'utf8').catch(() => '');
  if (known === digest && (await readFile(addon).catch(() => undefined)) !== undefined) return addon;
  await mkdir(directory, { recursive: true });
  // Under a name of its own first: several processes may compile at once, and others use what was there.
  const unfinished = `${addon}.${randomUUID()}`;
  await run(command, [...all, '-o', unfinished], { cwd: sources });
  await rename(unfinished, addon);
  await writeFile(`${addon}.digest`, digest);
  return addon;
}

const FLAGS = [
  ...['-std=c11', '-D_GNU_SOURCE', '-DNAPI_VERSION=8', '-D_FILE_OFFSET_BITS=64'],
  ...['-Wall', '-Wextra', '-Werror', '-fPIC', '-shared', '-pthread', '-fvisibility=hidden'],
  // Threads may still run when the last environment that loaded it has ended.
  '-Wl,-z,nodelete',
];

/** The name of this platform, as in the names of packages. */
export function platform() {
  return `${process.platform}-${process.arch}-${familySync() === 'musl' ? 'musl' : 'gnu'}`;
}

function headers() {
  const { resolve } = createRequire(import.meta.url);
  return path.join(path.dirname(resolve('node-api-headers/package.json')), 'include');
}

/** @param {readonly string[]} command */
async function digestOf(command) {
  const digest = createHash('sha256').update(command.join('\0'));
  const files = (await readdir(sources, { recursive: true })).filter((file) => /\.[ch]$/.test(file)).sort();
  for (const file of files) digest.update(await readFile(path.join(sources, file)));
  return digest.digest('hex');
}
