// @ts-check
/**
 * Builds the shim with the sanitizers of addresses and of undefined behaviour, and runs the tests of
 * programs under it; then runs the programs of test/ under valgrind: `npm run sanitize -w @tiered/interpose
 * [-- asan|valgrind]`. Needs gcc with its sanitizers, and valgrind. What they find is printed, and the exit
 * code is 1, as it is where one of them is missing. The sanitizer of threads cannot be loaded into programs
 * that are not built for it.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { compile } from './compile.js';

const root = path.resolve(import.meta.dirname, '../../..');
const TESTS = [
  ...['ways-to-open', 'churn', 'programs', 'imaginary'].map(inPackage),
  'test/interpose/held-files.',
  'test/interpose/descriptors.',
];
/** Those that run programs of test/, and nothing else. */
const PROGRAMS = ['ways-to-open', 'churn', 'ring', 'table'].map(inPackage);
const FLAGS = ['-O1', '-g', '-fsanitize=address,undefined', '-fno-sanitize-recover=undefined'];
/** Programs leak on purpose at their end. */
const OPTIONS = 'detect_leaks=0:abort_on_error=1:halt_on_error=1';

/** @param {string} name */
function inPackage(name) {
  return `packages/interpose/test/${name}.`;
}

/**
 * Whether the tests pass.
 *
 * @param {readonly string[]} files What their paths begin with.
 * @param {Record<string, string>} env
 */
function passes(files, env) {
  const all = { ...process.env, ...env };
  return (
    spawnSync('npx', ['vitest', 'run', ...files], { cwd: root, env: all, stdio: 'inherit' }).status === 0
  );
}

async function passesAsan() {
  return passes(TESTS, {
    ASAN_OPTIONS: OPTIONS,
    TIERED_SHIM: await compile({ name: 'asan', flags: FLAGS }),
    LD_PRELOAD: execFileSync('cc', ['-print-file-name=libasan.so'], { encoding: 'utf8' }).trim(),
  });
}

/** Whether valgrind is there, and finds nothing. */
async function passesValgrind() {
  if (spawnSync('valgrind', ['--version']).error !== undefined) {
    console.error('valgrind is not installed: apt-get install valgrind');
    return false;
  }
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-valgrind-'));
  const isFine = passes(PROGRAMS, { TIERED_VALGRIND: directory });
  const names = fs.readdirSync(directory).filter((name) => name.startsWith('log.'));
  const logs = names.map((name) => fs.readFileSync(path.join(directory, name), 'utf8'));
  fs.rmSync(directory, { recursive: true });
  console.log(`valgrind watched ${logs.length} processes.`);
  for (const log of logs) if (log !== '') console.log(log);
  return isFine && logs.length > 0 && logs.every((log) => log === '');
}

const KINDS = { asan: passesAsan, valgrind: passesValgrind };
for (const name of process.argv.length > 2 ? process.argv.slice(2) : Object.keys(KINDS)) {
  const kind = KINDS[/** @type {keyof typeof KINDS} */ (name)];
  if (kind === undefined)
    throw new Error(`There is no '${name}': choose of ${Object.keys(KINDS).join(', ')}.`);
  console.log(`\n==> ${name}`);
  if (!(await kind())) process.exitCode = 1;
}
