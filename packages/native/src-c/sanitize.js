// @ts-check
/**
 * Builds the addon with each sanitizer and runs its tests on it: `npm run sanitize -w @tiered/native [--
 * asan|tsan|valgrind]...`. Needs gcc with its sanitizers; valgrind is left out where it is not installed.
 * What one finds it prints, and the exit code is 1.
 *
 * Valgrind runs stress.js, because under it the tests would take an hour.
 *
 * Leaks are counted by the tests themselves (`live`): Node leaks at its end on purpose, which drowns what a
 * sanitizer would say.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import path from 'node:path';
import { compile } from './compile.js';

const root = path.resolve(import.meta.dirname, '../../..');
const TESTS = ['packages/native', 'test/native-hanging'];

/**
 * @typedef {{ flags: string[]; library?: string; env: Record<string, string>; around: string[]; tests:
 * string[] }} Kind
 */

/** @type {Record<string, Kind>} */
const KINDS = {
  asan: {
    flags: ['-O1', '-g', '-fsanitize=address,undefined', '-fno-sanitize-recover=undefined'],
    library: 'libasan.so',
    env: { ASAN_OPTIONS: 'detect_leaks=0:abort_on_error=1:halt_on_error=1' },
    around: [],
    tests: TESTS,
  },
  tsan: {
    flags: ['-O1', '-g', '-fsanitize=thread'],
    library: 'libtsan.so',
    // Node is not built for it: what it does with its own memory and locks is not looked at.
    env: { TSAN_OPTIONS: 'halt_on_error=1:exitcode=66:ignore_noninstrumented_modules=1' },
    // It needs to know where things lie.
    around: ['setarch', '-R'],
    tests: TESTS,
  },
};

/** @param {string} library */
function pathOf(library) {
  return execFileSync('cc', [`-print-file-name=${library}`], { encoding: 'utf8' }).trim();
}

/**
 * Whether the tests pass.
 *
 * @param {string} name
 * @param {Kind} kind
 */
async function passes(name, { flags, library, env, around, tests }) {
  console.log(`\n==> ${name}`);
  const addon = await compile({ name, flags });
  const preload = library === undefined ? {} : { LD_PRELOAD: pathOf(library) };
  const [command = '', ...args] = [
    ...around,
    process.execPath,
    'node_modules/vitest/vitest.mjs',
    'run',
    ...tests,
  ];
  const all = { ...process.env, ...env, ...preload, TIERED_NATIVE: addon };
  return (
    spawnSync(command, args, { cwd: root, env: all, stdio: ['ignore', 'inherit', 'inherit'] }).status === 0
  );
}

/** Whether valgrind finds nothing; true as well where there is none. */
async function passesValgrind() {
  console.log('\n==> valgrind');
  const suppressions = `--suppressions=${path.join(import.meta.dirname, 'valgrind.supp')}`;
  const options = ['--error-exitcode=66', '--smc-check=all-non-file', '--num-callers=12', suppressions];
  const stress = [process.execPath, path.join(import.meta.dirname, 'stress.js'), await compile(), '60'];
  const { status, error } = spawnSync('valgrind', [...options, ...stress], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (error !== undefined) console.log('It is not installed: apt-get install valgrind');
  return error !== undefined || status === 0;
}

const all = [...Object.keys(KINDS), 'valgrind'];
for (const name of process.argv.length > 2 ? process.argv.slice(2) : all) {
  const kind = KINDS[name];
  if (kind === undefined && name !== 'valgrind')
    throw new Error(`There is no '${name}': choose of ${all.join(', ')}.`);
  if (!(kind === undefined ? await passesValgrind() : await passes(name, kind))) process.exitCode = 1;
}
