/**
 * Says how often tests fail on a busy machine: `npm run flaky -- FILE... [--runs 50] [--loops 4]`. Runs
 * the files again and again beside loops that do nothing but compute, and prints what failed. The exit
 * code is 1 if anything did. `--memory GiB` also takes that much memory, which is touched all the time.
 * `--project whole` in place of files runs all that start processes, threads or servers.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

const root = path.resolve(import.meta.dirname, '../..');
const BUSY = 'for (;;) {}';
const GREEDY = `
  const blocks = Array.from({ length: 16 * Number(process.argv[1]) }, () => Buffer.alloc(2 ** 26, 1));
  for (;;) for (const block of blocks) for (let at = 0; at < block.length; at += 4096) block[at]++;`;

const { values, positionals: files } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: 'string', default: '50' },
    loops: { type: 'string', default: String(2 * os.availableParallelism()) },
    memory: { type: 'string', default: '0' },
    project: { type: 'string' },
  },
});
const chosen = values.project === undefined ? files : ['--project', values.project, ...files];
if (chosen.length === 0)
  throw new Error('Say which: npm run flaky -- FILE... [--runs 50] [--loops 4] [--memory GiB]');

const load = Array.from({ length: Number(values.loops) }, () => spawn(process.execPath, ['-e', BUSY]));
if (values.memory !== '0') load.push(spawn(process.execPath, ['-e', GREEDY, values.memory]));
// The loops would outlive what is ended from outside.
const endLoad = () => load.forEach((child) => child.kill('SIGKILL'));
process.once('exit', endLoad);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));

let failed = 0;
const runs = Number(values.runs);
for (let run = 1; run <= runs; run++) {
  const output = await runTests();
  if (output !== undefined) {
    failed += 1;
    console.log(output);
  }
  console.log(`run ${run} of ${runs}: ${failed} failed`);
}
endLoad();
process.exitCode = failed === 0 ? 0 : 1;

/** What a run printed that failed; undefined if it passed. */
async function runTests() {
  const vitest = path.join(root, 'node_modules/vitest/vitest.mjs');
  const child = spawn(process.execPath, [vitest, 'run', ...chosen], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (output += text));
  const [status] = await once(child, 'close');
  return status === 0 ? undefined : output;
}
