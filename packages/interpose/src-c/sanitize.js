// @ts-check
/**
 * Builds the shim with the sanitizers of addresses and of undefined behaviour, and runs the tests of
 * programs under it. `npm run sanitize -w @tiered/interpose` needs gcc with its sanitizers. What they find is
 * printed, and the exit code is 1. The sanitizer of threads cannot be loaded into programs that are not built
 * for it.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import path from 'node:path';
import { compile } from './compile.js';

const root = path.resolve(import.meta.dirname, '../../..');
const TESTS = ['ways-to-open', 'churn', 'programs'].map(
  (name) => `packages/interpose/test/${name}.long.test.ts`,
);
const FLAGS = ['-O1', '-g', '-fsanitize=address,undefined', '-fno-sanitize-recover=undefined'];
/** Programs leak on purpose at their end. */
const OPTIONS = 'detect_leaks=0:abort_on_error=1:halt_on_error=1';

const env = {
  ...process.env,
  ASAN_OPTIONS: OPTIONS,
  TIERED_SHIM: await compile({ name: 'asan', flags: FLAGS }),
  LD_PRELOAD: execFileSync('cc', ['-print-file-name=libasan.so'], { encoding: 'utf8' }).trim(),
};
const { status } = spawnSync('npx', ['vitest', 'run', ...TESTS], { cwd: root, env, stdio: 'inherit' });
process.exitCode = status ?? 1;
