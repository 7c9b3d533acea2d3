// @ts-check
import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const sources = import.meta.dirname;
const run = promisify(execFile);

/** What to do where there is no compiler. */
export const INSTALL = 'apt-get install gcc libc6-dev';

const FLAGS = [
  ...['-std=c11', '-D_GNU_SOURCE', '-U_FORTIFY_SOURCE', '-Wall', '-Wextra', '-Werror', '-pthread'],
  '-fvisibility=hidden',
];

/**
 * Compiles the shim for this machine, or a program over its sources, unless that was done from these sources
 * already. Returns the path.
 *
 * @param {{ name?: string; program?: string; flags?: readonly string[] }} [options] `name` is the directory
 * below build/; `program` a file of test/ that has a `main`, without which the shim is made; `flags` go
 * behind those that there are anyway.
 * @returns {Promise<string>}
 * @throws an error of code `ENOENT` if there is no compiler; else the compiler's.
 */
export async function compile({ name = `linux-${process.arch}`, program, flags = ['-O2', '-g'] } = {}) {
  const directory = path.join(sources, '../build', name);
  const file = path.join(directory, program === undefined ? 'tiered-shim.so' : path.basename(program, '.c'));
  const kind = program === undefined ? ['-shared', '-fPIC', '-ldl'] : [];
  const files = await sourcesFor(program);
  const command = [...FLAGS, ...flags, ...files, ...kind];
  const digest = await digestOf(command);
  const known = await readFile(`${file}.digest`, 'utf8').catch(() => '');
  if (known === digest && (await stat(file).catch(() => undefined)) !== undefined) return file;
  await mkdir(directory, { recursive: true });
  // Under a name of its own first: several processes may compile at once, and others use what was there.
  const unfinished = `${file}.${randomUUID()}`;
  await run('cc', [...command, '-o', unfinished], { cwd: sources });
  await rename(unfinished, file);
  await writeFile(`${file}.digest`, digest);
  return file;
}

/** A program is made with what reads tables, and the shim with everything. @param {string} [program] */
async function sourcesFor(program) {
  // Other programs of the tests know nothing of tables.
  if (program === 'test/opens.c' || program === 'test/churn.c') return [program];
  if (program !== undefined) return ['table.c', 'ring.c', 'copy-path.c', 'map.c', 'real.c', program];
  return (await readdir(sources)).filter((file) => file.endsWith('.c')).sort();
}

/** @param {readonly string[]} command */
async function digestOf(command) {
  const digest = createHash('sha256').update(command.join('\0'));
  const all = (await readdir(sources, { recursive: true })).filter((file) => /\.[ch]$/.test(file)).sort();
  for (const file of all) digest.update(await readFile(path.join(sources, file)));
  return digest.digest('hex');
}
