// @ts-check
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { compileOnce, platform } from '../../../tools/c/compile.js';

export { INSTALL, platform } from '../../../tools/c/compile.js';

const sources = import.meta.dirname;
const SOURCES = [sources, path.join(sources, '../../native/src-c/vendor')];

const FLAGS = [
  ...['-std=c11', '-D_GNU_SOURCE', '-U_FORTIFY_SOURCE', '-Wall', '-Wextra', '-Werror', '-pthread'],
  // The C library declares that pointers are there which programs leave out.
  ...['-fvisibility=hidden', '-fno-delete-null-pointer-checks'],
];

/** What reads tables and leaves messages, and needs no program around it. */
const READERS = ['table.c', 'ring.c', 'copy-path.c', 'resolve.c', 'imaginary-path.c', 'map.c', 'real.c'];

/** Programs of the tests that know nothing of tables. */
const ORDINARY = ['test/opens.c', 'test/churn.c', 'test/load.c', 'test/other-clock.c'];

/**
 * Compiles the shim for this machine, or a program over its sources, unless that was done from these sources
 * already. Returns the path.
 *
 * @param {{
 *   name?: string;
 *   program?: string;
 *   compiler?: readonly string[];
 *   flags?: readonly string[];
 * }} [options] `name` is the directory below build/, by default that of the platform; `program` a file of
 * test/ that has a `main`, without which the shim is made; `compiler` a command, by default `cc`; `flags` go
 * behind those that there are anyway.
 * @returns {Promise<string>}
 * @throws an error of code `ENOENT` if there is no compiler; else the compiler's.
 */
export async function compile({ name = platform(), program, compiler = ['cc'], flags = ['-O2', '-g'] } = {}) {
  const kind = program === undefined ? ['-shared', '-fPIC', '-Wl,-z,now', '-ldl'] : ['-ldl'];
  const made = program === undefined ? 'tiered-shim.so' : path.basename(program, '.c');
  return compileOnce({
    command: [...compiler, ...FLAGS, ...flags, ...(await sourcesFor(program)), ...kind],
    sources: SOURCES,
    file: path.join(sources, '../build', name, made),
  });
}

/** A program is made with what reads tables, and the shim with everything. @param {string} [program] */
async function sourcesFor(program) {
  if (program !== undefined) return ORDINARY.includes(program) ? [program] : [...READERS, program];
  return (await readdir(sources)).filter((file) => file.endsWith('.c')).sort();
}
