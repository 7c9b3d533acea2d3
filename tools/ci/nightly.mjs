/**
 * Everything that can be tried, at full length: `npm run nightly`, or some steps of it: `npm run nightly
 * -- kills churn`. `npm run nightly -- --list` names them. All of them take hours. Tests ask
 * `inject('nightly')` for what they try beyond `.ci/run`.
 */
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { runSteps } from './run-steps.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const NODES = [22, 24, 26];

/** Tests that are a step of their own, by what their paths begin with. */
const TESTS = {
  kills: ['test/crash', 'test/survival', 'test/sharing', 'test/processes/', 'packages/core/test/namespace/'],
  damage: ['test/damage', 'test/bucket-tier'],
  frameworks: ['test/interpose/frameworks', 'test/interpose/imaginary-frameworks'],
  clients: ['test/gateway'],
  churn: ['packages/interpose/test/churn'],
  differential: ['test/interpose/differential'],
  s3: ['test/s3', 'packages/s3-adapter'],
};
const others = Object.values(TESTS).flat();

const benches = readdirSync(path.join(root, 'bench'))
  .filter((file) => file.endsWith('.ts') && file !== 'run.ts')
  .map((file) => path.basename(file, '.ts'));

/** @typedef {import('./run-steps.mjs').Step} Step */

/** What any step may need. */
const PREPARATION = /** @type {Step[]} */ ([
  { name: 'build', command: 'npm run build', needed: true },
  { name: 'docs', command: 'npm run docs' },
  { name: 'servers', command: 'bash tools/servers/install.sh', needed: true },
  { name: 'newest NATS', command: 'node tools/servers/build-nats.js' },
  { name: 'environments', command: 'node tools/frameworks/build.js', needed: true },
]);

const STEPS = /** @type {Step[]} */ ([
  ...Object.entries(TESTS).map(([name, files]) => tests(name, files.join(' '))),
  tests('tests', others.map((file) => `--exclude '${file}*' --exclude '${file}*/**'`).join(' ')),
  { name: 'flaky', command: 'npm run flaky -- --project whole --runs 3 --memory 4' },
  { name: 'chaos', command: 'npm run chaos -- --seconds 300' },
  { name: 'chaos-nodes', command: 'npm run chaos -- --nodes --seconds 300' },
  { name: 'chaos-jobs', command: 'npm run chaos -- --jobs --seconds 300' },
  { name: 'chaos-processes', command: 'npm run chaos -- --processes --seconds 120' },
  { name: 'sanitize-native', command: 'npm run sanitize -w @tiered/native' },
  { name: 'sanitize-interpose', command: 'npm run sanitize -w @tiered/interpose' },
  { name: 'fuzz', command: 'npm run fuzz -w @tiered/interpose -- 300' },
  ...NODES.map((node) => ({ name: `node-${node}`, command: `npm run test:matrix -- --node ${node}` })),
  ...benches.map((name) => ({ name: `bench-${name}`, command: `npm run bench -- ${name} --quick --json` })),
]);

/**
 * @param {string} name
 * @param {string} args
 * @returns {Step}
 */
function tests(name, args) {
  return { name, command: `npx vitest run ${args}`, env: { TIERED_NIGHTLY: '1' }, tests: true };
}

/**
 * The steps of these names; `bench` means all whose names begin with `bench-`.
 *
 * @param {readonly string[]} names
 */
function chosen(names) {
  const isChosenBy = (/** @type {string} */ name) => (/** @type {Step} */ step) =>
    step.name === name || step.name.startsWith(`${name}-`);
  const unknown = names.filter((name) => !STEPS.some(isChosenBy(name)));
  if (unknown.length > 0)
    throw new Error(`There is no step ${unknown.join(', ')}: npm run nightly -- --list`);
  return names.length === 0 ? STEPS : STEPS.filter((step) => names.some((name) => isChosenBy(name)(step)));
}

const { positionals, values } = parseArgs({ allowPositionals: true, options: { list: { type: 'boolean' } } });
if (values.list === true) for (const { name, command } of STEPS) console.log(`${name}: ${command}`);
else process.exitCode = (await runSteps([...PREPARATION, ...chosen(positionals)])) ? 0 : 1;
