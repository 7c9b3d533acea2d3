import { defineConfig } from 'vitest/config';

export default defineConfig({
  // Packages are tested from their sources: `npm test` needs no build before it.
  resolve: { conditions: ['tiered-source'] },
  ssr: { resolve: { conditions: ['tiered-source', 'node', 'import', 'default'] } },
  test: {
    include: ['packages/*/test/**/*.test.ts', 'test/**/*.test.ts'],
    pool: 'forks',
    // Many tests write thousands of files; a shared machine may take its time.
    testTimeout: 30_000,
  },
});
