import { defineConfig } from 'vitest/config';

export default defineConfig({
  // Packages are tested from their sources: `npm test` needs no build before it.
  resolve: { conditions: ['tiered-source'] },
  ssr: { resolve: { conditions: ['tiered-source', 'node', 'import', 'default'] } },
  test: {
    include: ['packages/*/test/**/*.test.ts', 'test/**/*.test.ts'],
    pool: 'forks',
    globalSetup: ['test/scratch.ts'],
    setupFiles: ['test/seed.ts'],
    // Tests make tiers fail all the time; those that are about the warning listen to it.
    execArgv: ['--disable-warning=TieredWarning'],
    // Says that a test hangs, and not that it is slow: many write thousands of files or start processes, on machines that are busy.
    testTimeout: 120_000,
    hookTimeout: 60_000,
  },
});
