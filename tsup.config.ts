import { readFileSync } from 'node:fs';
import { defineConfig } from 'tsup';

// Run inside one package. Its entries are what its package.json exports, so they cannot drift. An export that
// is a file as it is, such as a JSON Schema, is not built.
const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {
  exports: Record<string, string | { 'tiered-source': string }>;
};

const exported = Object.values(manifest.exports).flatMap((target) =>
  typeof target === 'string' ? [] : [target['tiered-source']],
);

export default defineConfig({
  entry: Object.fromEntries(
    exported.map((source) => [source.replace('./src/', '').replace(/\.ts$/, ''), source]),
  ),
  format: 'esm',
  target: 'node20',
  dts: true,
  sourcemap: true,
  clean: true,
});
