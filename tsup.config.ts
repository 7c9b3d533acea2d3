import { readFileSync } from 'node:fs';
import { defineConfig } from 'tsup';

// Run inside one package. Its entries are what its package.json exports, so the two cannot drift.
const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {
  exports: Record<string, { 'tiered-source': string }>;
};

export default defineConfig({
  entry: Object.fromEntries(
    Object.values(manifest.exports).map((target) => {
      const source = target['tiered-source'];
      return [source.replace('./src/', '').replace(/\.ts$/, ''), source];
    }),
  ),
  format: 'esm',
  target: 'node20',
  dts: true,
  sourcemap: true,
  clean: true,
});
