/**
 * Runs the steps of CI, one after the other. At its end it prints the minutes of each, and
 * `N passed, N failed`. A step counts as one, or as many as it has tests.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');

/**
 * @typedef {object} Step
 * @property {string} name
 * @property {string} command as a shell takes it, at the root
 * @property {Record<string, string>} [env]
 * @property {boolean} [needed] Nothing after it runs if it fails.
 * @property {boolean} [tests] It takes the arguments of vitest, and its tests are counted one by one.
 *
 * @typedef {{ name: string; seconds: number; passed: number; failed: number }} Outcome
 */

/**
 * @param {readonly Step[]} steps
 * @param {{ minutes?: number }} [aim] `minutes` in all. More is said loudly, and is no failure.
 * @returns {Promise<boolean>} whether all passed
 */
export async function runSteps(steps, { minutes = Infinity } = {}) {
  /** @type {Outcome[]} */
  const outcomes = [];
  const scratch = await mkdtemp(path.join(os.tmpdir(), 'tiered-ci-'));
  try {
    for (const step of steps) {
      const outcome = await runStep(step, path.join(scratch, `${outcomes.length}.json`));
      outcomes.push(outcome);
      if (step.needed === true && outcome.failed > 0) break;
    }
  } finally {
    await rm(scratch, { recursive: true, force: true });
    summarize(outcomes, minutes);
  }
  return outcomes.length > 0 && sum(outcomes, 'failed') === 0;
}

/**
 * @param {Step} step
 * @param {string} report where vitest writes what became of each test
 * @returns {Promise<Outcome>}
 */
async function runStep({ name, command, env, tests = false }, report) {
  const start = process.uptime();
  console.log(`\n==> ${clock(start)} ${name}: ${command}`);
  const reporters = `--reporter=default --reporter=json --outputFile.json='${report}'`;
  const child = spawn('bash', ['-c', tests ? `${command} ${reporters}` : command], {
    cwd: root,
    env: { ...process.env, CI: 'true', NO_COLOR: '1', ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [status] = await once(child, 'close');
  const counts = tests ? await countTests(report, status) : count(status === 0);
  if (counts.failed > 0) console.log(`FAILED: ${name} (${counts.failed}), by ${command}`);
  return { name, seconds: process.uptime() - start, ...counts };
}

const count = (/** @type {boolean} */ passed) => ({ passed: passed ? 1 : 0, failed: passed ? 0 : 1 });

/**
 * A skipped test proves nothing and counts as failed; so do a file that could not be loaded, and a failure
 * outside of any test.
 *
 * @param {string} report
 * @param {number | null} status
 */
async function countTests(report, status) {
  const text = await readFile(report, 'utf8').catch(() => undefined);
  if (text === undefined) return count(false);
  const { numPassedTests: passed, numTotalTests, testResults } = JSON.parse(text);
  const unloaded = testResults.filter(isUnloaded).length;
  const failed = numTotalTests - passed + unloaded;
  return { passed, failed: failed === 0 && status !== 0 ? 1 : failed };
}

/** @param {{ status: string; assertionResults: unknown[] }} file */
const isUnloaded = ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0;

/**
 * @param {readonly Outcome[]} outcomes
 * @param {number} minutes
 */
function summarize(outcomes, minutes) {
  const total = process.uptime();
  console.log(`\n==> ${clock(total)} the end`);
  for (const { name, seconds, failed } of outcomes)
    console.log(`${clock(seconds)} ${name}${failed > 0 ? `: FAILED (${failed})` : ''}`);
  if (total > 60 * minutes)
    console.log(`\nTOO LONG: it took ${clock(total)}, and should take less than ${minutes} minutes.`);
  console.log(`${sum(outcomes, 'passed')} passed, ${sum(outcomes, 'failed')} failed`);
}

/**
 * @param {readonly Outcome[]} outcomes
 * @param {'passed' | 'failed'} what
 */
const sum = (outcomes, what) => outcomes.reduce((total, outcome) => total + outcome[what], 0);

/** Minutes and seconds. */
function clock(/** @type {number} */ seconds) {
  const two = (/** @type {number} */ number) => String(Math.floor(number)).padStart(2, '0');
  return `${two(seconds / 60)}:${two(seconds % 60)}`;
}
