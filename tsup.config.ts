import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { defineConfig, type Options } from 'tsup';

interface Manifest {
  readonly private?: boolean;
  readonly exports: Readonly<Record<string, string | { readonly 'tiered-source': string }>>;
}

const packages = path.join(import.meta.dirname, 'packages');

/** The JavaScript of one package. Its entries are what its package.json exports, so they cannot drift. */
function optionsOf(short: string): Options[] {
  const directory = path.join(packages, short);
  const manifest = JSON.parse(readFileSync(path.join(directory, 'package.json'), 'utf8')) as Manifest;
  if (manifest.private === true) return [];
  // An export that is a file as it is, such as a JSON Schema, is not built.
  const sources = Object.values(manifest.exports).flatMap((target) =>
    typeof target === 'string' ? [] : [target['tiered-source']],
  );
  return [
    {
      name: short,
      entry: Object.fromEntries(
        sources.map((source) => [source.replace(/^\.\/src\/|\.ts$/g, ''), path.join(directory, source)]),
      ),
      outDir: path.join(directory, 'dist'),
      format: 'esm',
      target: 'node20',
      sourcemap: true,
      clean: true,
      silent: true,
      // Whatever is no file of the package stays an import: its manifest says what it needs.
      skipNodeModulesBundle: true,
    },
  ];
}

export default defineConfig(readdirSync(packages).flatMap(optionsOf));
