import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'tsup';

/**
 * Makes one JavaScript file of a script in `children`, because a test that kills dozens of processes cannot
 * wait for each to compile its sources. What a source finds beside itself it still finds there.
 *
 * @param children Where the script is.
 * @returns The file's path.
 */
export async function programOf(
  script: string,
  directory: string,
  children = path.join(import.meta.dirname, 'children'),
): Promise<string> {
  await build({
    entry: { [script]: path.join(children, `${script}.ts`) },
    outDir: directory,
    outExtension: () => ({ js: '.mjs' }),
    format: 'esm',
    target: 'node20',
    config: false,
    dts: false,
    silent: true,
    noExternal: [/^@tiered\//],
    // The rest is loaded from where it is installed.
    external: ['libsql', '@node-rs/crc32', /^@nats-io\//],
    banner: {
      js: `import { createRequire as requireFrom } from 'node:module'; var require = requireFrom(import.meta.url);`,
    },
    esbuildOptions: (options) => {
      options.conditions = ['tiered-source'];
    },
    esbuildPlugins: [
      {
        name: 'stay-where-the-source-is',
        setup: (compiler) => {
          compiler.onLoad({ filter: /packages\/.*\/src\/.*\.ts$/ }, async ({ path: source }) => {
            const text = await readFile(source, 'utf8');
            const contents = text
              .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(source).href))
              .replaceAll('import.meta.dirname', JSON.stringify(path.dirname(source)));
            return { contents, loader: 'ts' };
          });
        },
      },
    ],
  });
  return path.join(directory, `${script}.mjs`);
}
