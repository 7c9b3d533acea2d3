import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { compile, platform } from '../src-c/compile.js';
import { describeShim, temporaryDirectory } from './helpers.js';

const PROGRAM = `
import { environmentAt } from '@tiered/interpose';
try { console.log(environmentAt(process.argv[1]).LD_PRELOAD); } catch (error) { console.log(error.message); }`;

/** What a process preloads into programs. */
function preloaded(env: NodeJS.ProcessEnv): string {
  const directory = temporaryDirectory();
  fs.writeFileSync(path.join(directory, 'table'), '');
  const command = ['--conditions=tiered-source', '--import', 'tsx', '--input-type=module', '-e', PROGRAM];
  const all = { ...process.env, TIERED_SHIM: '', LD_PRELOAD: '', ...env };
  const said = execFileSync(process.execPath, [...command, directory], { env: all, encoding: 'utf8' });
  return said.trim();
}

describeShim('the shim', () => {
  it('is the one that TIERED_SHIM names, or of the package for the platform, or built here', () => {
    const modules = temporaryDirectory();
    const file = path.join(modules, '@tiered', `interpose-${platform()}`, 'tiered-shim.so');
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, '');
    expect([
      preloaded({ NODE_PATH: modules, TIERED_SHIM: '/some/other.so' }),
      preloaded({ NODE_PATH: modules }),
      preloaded({}),
    ]).toEqual([
      '/some/other.so',
      file,
      path.resolve(import.meta.dirname, `../build/${platform()}/tiered-shim.so`),
    ]);
  });

  it('does not wait for the loader, which may wait for a thread that opens files', async () => {
    const flags = ['-O2', '-g', '-fPIC', '-shared', '-DLIBRARY'];
    const library = await compile({ program: 'test/load.c', name: 'library', flags });
    const env = { ...process.env, LD_PRELOAD: preloaded({ TIERED_SHIM: process.env['TIERED_SHIM'] }) };
    const load = await compile({ program: 'test/load.c' });
    expect(execFileSync(load, [library], { env, encoding: 'utf8', timeout: 60_000 })).toBe('opened\n');
  });

  it('cannot be where LD_PRELOAD cannot name it', () => {
    expect(preloaded({ TIERED_SHIM: '/with a space/shim.so' })).toContain(
      'install @tiered/interpose in a directory',
    );
  });
});
