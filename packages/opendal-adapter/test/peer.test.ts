import { execFile } from 'node:child_process';
import fs from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryDirectory } from './helpers.js';

const packageRoot = fileURLToPath(new URL('..', import.meta.url));

/**
 * What `open` says in a process where the package stands elsewhere, beside these modules of another
 * `opendal`.
 */
async function openedBeside(
  opendal: Readonly<Record<string, string>>,
): Promise<{ code: string; message: string }> {
  const directory = await temporaryDirectory();
  onTestFinished(() => fs.rm(directory, { recursive: true }));
  await fs.cp(packageRoot, path.join(directory, 'package'), { recursive: true });
  const speller = path.dirname(fileURLToPath(import.meta.resolve('fastest-levenshtein')));
  await fs.mkdir(path.join(directory, 'node_modules', '@tiered'), { recursive: true });
  await fs.symlink(
    path.join(packageRoot, '..', 'core'),
    path.join(directory, 'node_modules', '@tiered', 'core'),
  );
  await fs.symlink(speller, path.join(directory, 'node_modules', 'fastest-levenshtein'));
  for (const [name, text] of Object.entries(opendal)) {
    await fs.mkdir(path.join(directory, 'node_modules', 'opendal'), { recursive: true });
    await fs.writeFile(path.join(directory, 'node_modules', 'opendal', name), text);
  }
  const entry = pathToFileURL(path.join(directory, 'package', 'src', 'index.ts')).href;
  const script = `
    import { OpenDalDriver } from ${JSON.stringify(entry)};
    const error = await new OpenDalDriver({ service: 'memory' }).open({}).then(() => ({}), (thrown) => thrown);
    console.log(JSON.stringify({ code: error.code, message: error.message }));`;
  const args = ['--conditions=tiered-source', '--import', 'tsx', '--input-type=module', '--eval', script];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as { code: string; message: string };
}

describe('without OpenDAL', () => {
  it('the package loads, and open() names the package, the version and the command', async () => {
    const { code, message } = await openedBeside({});
    expect(code).toBe('TIERED_CONFIG_INVALID');
    expect(message).toContain('is not installed');
    expect(message).toContain('npm install opendal@0.49.2');
  });

  it('a binary that does not load is told apart', async () => {
    const { code, message } = await openedBeside({
      'package.json': '{ "name": "opendal", "type": "module", "exports": "./index.js" }',
      'index.js': 'throw new Error("version `GLIBC_2.38\' not found");',
    });
    expect(code).toBe('TIERED_CONFIG_INVALID');
    expect(message).toContain('does not load');
    expect(message).toContain('npm install opendal@0.49.2');
  });
});
