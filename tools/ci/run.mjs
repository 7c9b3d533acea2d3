/**
 * What `.ci/run` does: everything that must hold, in a clean clone. Each kind of what is slow is tried
 * once, or shortly; `npm run nightly` tries all of it.
 */
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { runSteps } from './run-steps.mjs';

/** One of each package that has benches: that they run, and not how fast, since this machine may be busy. */
const BENCHES = [
  'hit-path',
  'tiering',
  'prefetch',
  'native',
  'read-many',
  's3',
  'loader',
  'interpose',
  'gateway',
  'cluster',
  'control',
  'simulator',
];

const examples = readdirSync(path.resolve(import.meta.dirname, '../../examples')).filter((file) =>
  file.endsWith('.ts'),
);

const steps = [
  { name: 'install', command: 'npm ci', needed: true },
  { name: 'commits', command: 'npm run commits' },
  // Packs the packages, for which it builds them all: tests need what is built.
  { name: 'checks', command: 'npm run check' },
  { name: 'docs', command: 'npm run docs' },
  // Without them, the tests fail that need a real server of S3, Redis or NATS, a browser, frameworks in
  // Python or compilers of Rust, Go and musl, or record system calls, and the tests and benches that need a
  // slow file system.
  {
    name: 'servers',
    command:
      'bash tools/servers/install.sh swift redis fuse strace squashfs chromium frameworks rust go musl nats network',
  },
  // Clients of S3 that read through the gateway, and the server of Valkey.
  { name: 'clients', command: 'node tools/frameworks/build.js clients valkey' },
  { name: 'tests', command: 'npm run test:all --', tests: true },
  // Where the native part is not available: its own tests are skipped.
  {
    name: 'tests without the native part',
    command: 'npx vitest run packages/node-fs-adapter packages/sharing',
    env: { TIERED_NATIVE: '0' },
  },
  // Simulated processes, nodes and jobs, and real processes. Always the same schedules, so that what fails is
  // the change's; `npm run nightly` looks for others.
  { name: 'chaos', command: 'npm run chaos -- --seconds 15 --seed 1' },
  { name: 'chaos of nodes', command: 'npm run chaos -- --nodes --seconds 15 --seed 1' },
  { name: 'chaos of jobs', command: 'npm run chaos -- --jobs --seconds 15 --seed 1' },
  { name: 'chaos of processes', command: 'npm run chaos -- --processes --seconds 15 --seed 1' },
  ...examples.map((file) => ({
    name: `example ${file}`,
    command: `node --conditions=tiered-source --import tsx examples/${file}`,
  })),
  { name: 'demo', command: 'npm run demo -- --quick' },
  { name: 'demo of nodes', command: 'npm run demo -- --nodes 3' },
  { name: 'demo from S3', command: 'npm run demo -- --quick --source s3' },
  ...BENCHES.map((name) => ({ name: `bench ${name}`, command: `npm run bench -- ${name} --quick --json` })),
];

process.exitCode = (await runSteps(steps, { minutes: 25 })) ? 0 : 1;
