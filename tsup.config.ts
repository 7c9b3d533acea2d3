import { readFileSync } from 'node:fs';
import { defineConfig } from 'tsup';

// Run inside one package. Its entries are what its package.json exports, so the two cannot drift. An export that is
// a file as it is, such as a JSON Schema, is not built.
const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {
  exports: Record<string, string | { 'tiered-source': string }>;
};

export default defineConfig({
  entry: Object.fromEntries(
    Object.values(manifest.exports).flatMap((target) => {
      if (typeof target === 'string') return [];
      const source = target['tiered-source'];
      return [[source.replace('./src/', '').replace(/\.ts$/, ''), source]];
    }),
  ),
  format: 'esm',
  target: 'node20',
  dts: true,
  sourcemap: true,
  clean: true,
});
