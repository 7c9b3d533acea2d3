/**
 * Runs the tests under each supported line of Node beyond the one at hand, or under one: `npm run test:matrix
 * [-- --node 22] [VITEST ARGUMENTS]`. The binaries are those of the npm package `node`, kept under
 * node_modules/.cache.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';

const VERSIONS = ['22.23.3', '24.21.0', '26.10.0'];
const root = path.resolve(import.meta.dirname, '..');

function run(command, args, options) {
  return (
    spawnSync(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'], ...options }).status === 0
  );
}

/** The directory that holds the `node` of a version; fetched if it is not there. */
function nodeDirectory(version) {
  const prefix = path.join(root, 'node_modules/.cache/node', version);
  const directory = path.join(prefix, 'node_modules/node/bin');
  if (!existsSync(path.join(directory, 'node'))) {
    // A script of the package links the binary for this platform.
    run('npm', ['install', '--prefix', prefix, '--no-save', '--ignore-scripts=false', `node@${version}`]);
  }
  return directory;
}

const [, , option, line, ...rest] = process.argv;
const isOne = option === '--node';
const versions = isOne ? VERSIONS.filter((version) => version.startsWith(`${line}.`)) : VERSIONS;
if (versions.length === 0) throw new Error(`There is no Node ${line} here: ${VERSIONS.join(', ')}.`);
const args = isOne ? rest : process.argv.slice(2);

const failed = versions.filter((version) => {
  const directory = nodeDirectory(version);
  console.log(`\nNode ${version}`);
  const env = { ...process.env, PATH: `${directory}${path.delimiter}${process.env.PATH}` };
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', ...args];
  return !run(path.join(directory, 'node'), vitest, { env });
});

console.log(failed.length === 0 ? '\nPassed under every version.' : `\nFailed under: ${failed.join(', ')}.`);
process.exitCode = failed.length === 0 ? 0 : 1;
