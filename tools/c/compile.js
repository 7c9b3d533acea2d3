// @ts-check
/**
 * How the parts are compiled that are written in C: those of `@tiered/native` and of `@tiered/interpose`.
 */
import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { familySync } from 'detect-libc';

const run = promisify(execFile);

/** What to do where there is no compiler. */
export const INSTALL = 'apt-get install gcc libc6-dev';

/** The name of this platform, as in the names of packages. */
export function platform() {
  return `${process.platform}-${process.arch}-${familySync() === 'musl' ? 'musl' : 'gnu'}`;
}

/**
 * Compiles, unless that was done by this command from these sources already, and returns the path of what was
 * made. Takes a second.
 *
 * @param {object} what
 * @param {readonly string[]} what.command the compiler with its arguments, without `-o`
 * @param {readonly string[]} what.sources directories of all that it reads; it runs in the first
 * @param {string} what.file the path of what it makes
 * @returns {Promise<string>}
 * @throws an error of code `ENOENT` if there is no compiler; else the compiler's.
 */
export async function compileOnce({ command, sources, file }) {
  const digest = await digestOf(command, sources);
  const known = await readFile(`${file}.digest`, 'utf8').catch(() => '');
  if (known === digest && (await stat(file).catch(() => undefined)) !== undefined) return file;
  await mkdir(path.dirname(file), { recursive: true });
  // Under a name of its own first: several processes may compile at once, and others use what was there.
  const unfinished = `${file}.${randomUUID()}`;
  const [compiler = 'cc', ...args] = command;
  await run(compiler, [...args, '-o', unfinished], { cwd: sources[0] });
  await rename(unfinished, file);
  await writeFile(`${file}.digest`, digest);
  return file;
}

/**
 * Compiles a part of a package for this machine. Where that cannot be it says so, and is no failure: nothing
 * needs the part.
 *
 * @param {string} name of the package
 * @param {() => Promise<string>} compile
 * @param {{ unless?: string | undefined }} [options] `unless` says why it cannot be compiled here
 * @returns {Promise<string | undefined>} its path, if it was compiled
 */
export async function compileIfPossible(name, compile, { unless } = {}) {
  const reason = process.platform === 'linux' ? unless : 'it is for Linux only';
  if (reason === undefined) {
    try {
      return await compile();
    } catch (error) {
      const { code, stderr } = /** @type {{ code?: unknown; stderr?: string }} */ (error);
      if (code !== 'ENOENT') throw new Error(stderr, { cause: error });
    }
  }
  const why = reason ?? `there is no C compiler. To install one: ${INSTALL}`;
  console.log(`${name} is not compiled: ${why}`);
  return undefined;
}

/**
 * @param {readonly string[]} command
 * @param {readonly string[]} sources
 */
async function digestOf(command, sources) {
  const digest = createHash('sha256').update(command.join('\0'));
  for (const directory of sources) {
    const files = (await readdir(directory, { recursive: true })).filter((name) => /\.(c|cc|h)$/.test(name));
    for (const name of files.sort()) digest.update(await readFile(path.join(directory, name)));
  }
  return digest.digest('hex');
}
