// @ts-check
import { readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { compileOnce, platform } from '../../../tools/c/compile.js';

export { INSTALL, platform } from '../../../tools/c/compile.js';

const sources = import.meta.dirname;

const FLAGS = [
  ...['-std=c11', '-D_GNU_SOURCE', '-DNAPI_VERSION=8', '-D_FILE_OFFSET_BITS=64'],
  ...['-Wall', '-Wextra', '-Werror', '-fPIC', '-shared', '-pthread', '-fvisibility=hidden'],
  // Threads may still run when the last environment that loaded it has ended.
  '-Wl,-z,nodelete',
];

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
export async function compile({ name = platform(), compiler = ['cc'], flags = ['-O2', '-g'] } = {}) {
  const files = (await readdir(sources)).filter((file) => file.endsWith('.c')).sort();
  return compileOnce({
    command: [...compiler, ...FLAGS, ...flags, `-I${headers()}`, ...files],
    sources: [sources],
    file: path.join(sources, '../build', name, 'tiered-native.node'),
  });
}

function headers() {
  const { resolve } = createRequire(import.meta.url);
  return path.join(path.dirname(resolve('node-api-headers/package.json')), 'include');
}
