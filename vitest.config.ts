import os from 'node:os';
import path from 'node:path';
import { defineConfig, type Plugin } from 'vitest/config';

/** Tests of a package that take seconds, or need processes, servers or many files. */
const LONG = 'packages/*/test/**/*.long.test.ts';

/** Unit tests that count what their whole process has: mappings of memory, descriptors. */
const ALONE = 'packages/*/test/**/*.alone.test.ts';

/** Tests import fast-check, and get what `npm test` tries of each property. */
const properties = path.join(import.meta.dirname, 'test/properties.ts');
const fewerRuns: Plugin = {
  name: 'fewer-runs',
  enforce: 'pre',
  resolveId: (id) => (id === 'fast-check' ? properties : undefined),
};

declare module 'vitest' {
  interface ProvidedContext {
    /** Whether this is the nightly run, which tries everything at full length. */
    nightly: boolean;
  }
}

export default defineConfig({
  plugins: [fewerRuns],
  // Packages are tested from their sources: `npm test` needs no build before it.
  resolve: { conditions: ['tiered-source'] },
  ssr: { resolve: { conditions: ['tiered-source', 'node', 'import', 'default'] } },
  test: {
    // `npm test` runs `unit` and `alone`, what one runs between two edits; `npm run test:all` runs all.
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['packages/*/test/**/*.test.ts'],
          exclude: [LONG, ALONE],
          // They share a process: nothing is mocked, and the modules of all packages are loaded once.
          isolate: false,
          unstubEnvs: true,
          // They wait for nothing but processors.
          maxWorkers: os.availableParallelism(),
        },
      },
      {
        extends: true,
        test: { name: 'alone', include: [ALONE], maxWorkers: os.availableParallelism() },
      },
      {
        extends: true,
        test: {
          name: 'whole',
          include: ['test/**/*.test.ts', LONG],
          // They wait for servers and processes half of the time. Runs after the unit tests.
          maxWorkers: os.availableParallelism() + 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
    pool: 'forks',
    // For tests that try more than CI has the time for: `inject('nightly')`.
    provide: { nightly: process.env['TIERED_NIGHTLY'] === '1' },
    globalSetup: ['test/scratch.ts'],
    setupFiles: ['test/seed.ts'],
    // Tests make tiers fail all the time; those that are about the warning listen to it.
    execArgv: ['--disable-warning=TieredWarning'],
    // Says that a test hangs, and not that it is slow: many write thousands of files or start processes, on
    // machines that are busy.
    testTimeout: 120_000,
    hookTimeout: 60_000,
  },
});
