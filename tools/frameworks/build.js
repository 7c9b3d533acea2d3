// @ts-check
/**
 * Makes the environments of Python in which the tests of frameworks and of clients of S3 run, if they are not
 * there: `node tools/frameworks/build.js [NAME]...`. Without names, all. Needs `bash tools/servers/install.sh
 * frameworks`, and PyPI.
 *
 * Each lies in the cache directory of this user, under the hash of what it is made from. It gets its name
 * when it is complete, so that neither two builders nor one that was killed leave half of one.
 */
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { BASE, ENVIRONMENTS, environmentOf, recipeOf } from './environments.js';

const names = process.argv.slice(2);
for (const name of names.length === 0 ? Object.keys(ENVIRONMENTS) : names) {
  const directory = environmentOf(name);
  const { requirements, options } = recipeOf(name);
  if (existsSync(directory)) continue;
  console.log(`Making the environment "${name}" in ${directory}, which takes about a minute.`);
  mkdirSync(path.dirname(directory), { recursive: true });
  const unfinished = `${directory}.${randomUUID()}`;
  try {
    run(BASE, ['-m', 'venv', ...options, unfinished]);
    const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps'];
    run(path.join(unfinished, 'bin/python3'), [...install, '--requirement', requirements]);
    renameSync(unfinished, directory);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    // Somebody else has made it meanwhile.
    if (!existsSync(directory)) throw error;
  }
}

/** @param {string} file @param {readonly string[]} args */
function run(file, args) {
  execFileSync(file, args, { stdio: ['ignore', 'inherit', 'inherit'] });
}
