import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';

const SOURCES = ['--conditions=tiered-source', '--import', 'tsx'];
const MAIN = path.join(import.meta.dirname, '../../bin/from-sources.js');

const urlOf = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`;
/** Has Node write the address of each module that it loads into a file. */
const noting = (file: string) => {
  const hook = `import { appendFileSync } from 'node:fs';
    export const load = (url, context, next) => {
      appendFileSync(${JSON.stringify(file)}, url + '\\n');
      return next(url, context);
    };`;
  return urlOf(`import { register } from 'node:module'; register(${JSON.stringify(urlOf(hook))});`);
};

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-help-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

/** Packages whose modules a program loads; of this package, its folders. */
async function loadedBy(...program: readonly string[]): Promise<string[]> {
  const file = path.join(directory, 'loaded');
  const cwd = import.meta.dirname;
  await promisify(execFile)(process.execPath, [...SOURCES, '--import', noting(file), ...program], { cwd });
  const modules = (await readFile(file, 'utf8')).split('\n').flatMap((url) => {
    const [, installed] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? [];
    const [, sibling, below = ''] = /\/packages\/([^/]+)\/src\/(.*)/.exec(url) ?? [];
    return installed ?? (sibling === 'tiered' ? `src/${path.dirname(below)}` : (sibling ?? []));
  });
  return [...new Set(modules)].sort();
}

it.each(['--help', 'warmup --help', 'run --help'])(
  'tiered %s loads the core, the parser of arguments, and the definitions of commands',
  async (args) => {
    const both = ['--input-type=module', '--eval', 'import "commander"; import "@tiered/core";'];
    const needed = await loadedBy(...both);
    await rm(path.join(directory, 'loaded'));
    const own = ['src/.', 'src/cli', 'src/cli/commands'];
    expect(await loadedBy(MAIN, ...args.split(' '))).toEqual([...needed, ...own].sort());
  },
);
