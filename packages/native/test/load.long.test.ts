import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { Native } from '../src/index.js';
import { describeNative, temporaryDirectory } from './helpers.js';
import { platform } from '../src-c/compile.js';

const CHILD = path.join(import.meta.dirname, 'children/native-state.ts');

/** What a process finds that was started with `TIERED_NATIVE`, and what it warned of. */
async function stateWith(
  wish: string | undefined,
  more: NodeJS.ProcessEnv = {},
): Promise<{ state: Native; warnings: string }> {
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    ...more,
    ...(wish === undefined ? {} : { TIERED_NATIVE: wish }),
  };
  if (wish === undefined) delete env['TIERED_NATIVE'];
  const command = ['--conditions=tiered-source', '--import', 'tsx', CHILD];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, command, { env });
  return { state: JSON.parse(stdout) as Native, warnings: stderr };
}

describeNative('native()', () => {
  it('finds what was built here, and loads another file if it is told so', async () => {
    const built = path.resolve(import.meta.dirname, `../build/${platform()}/tiered-native.node`);
    expect((await stateWith(undefined)).state).toEqual({ available: true, from: built });
    const other = path.join(temporaryDirectory(), 'other.node');
    fs.copyFileSync(built, other);
    expect((await stateWith(other)).state).toEqual({ available: true, from: other });
  });

  it('takes the package of the platform before what was built here, and says so if that cannot be loaded', async () => {
    const modules = temporaryDirectory();
    const directory = path.join(modules, '@tiered', `native-${platform()}`);
    const addon = path.join(directory, 'tiered-native.node');
    fs.mkdirSync(directory, { recursive: true });
    fs.copyFileSync(path.resolve(import.meta.dirname, `../build/${platform()}/tiered-native.node`), addon);
    expect((await stateWith(undefined, { NODE_PATH: modules })).state).toEqual({
      available: true,
      from: addon,
    });
    fs.writeFileSync(addon, 'no library');
    const { state, warnings } = await stateWith(undefined, { NODE_PATH: modules });
    expect(state.available).toBe(true);
    expect(warnings).toContain('TieredWarning');
  });
});

describe.skipIf(process.platform !== 'linux')('native() without the addon', () => {
  it('says that it is turned off', async () => {
    const { state, warnings } = await stateWith('0');
    const reason = 'it is turned off by TIERED_NATIVE=0.';
    expect(state).toEqual({ available: false, reason, advice: 'Unset TIERED_NATIVE.', tried: [] });
    expect(warnings).toBe('');
  });

  it('says where it looked, and warns of nothing', async () => {
    const file = path.join(temporaryDirectory(), 'none.node');
    const { state, warnings } = await stateWith(file);
    const reason = 'it is not installed, and not built.';
    const advice = 'Correct TIERED_NATIVE, or unset it.';
    expect(state).toEqual({ available: false, reason, advice, tried: [file] });
    expect(warnings).toBe('');
  });

  it('says why a file that is there cannot be loaded, and warns', async () => {
    const file = path.join(temporaryDirectory(), 'broken.node');
    fs.writeFileSync(file, 'no library');
    const { state, warnings } = await stateWith(file);
    expect(state).toMatchObject({ available: false, tried: [file] });
    expect(!state.available && state.reason).toContain(`it cannot be loaded: ${file}: `);
    expect(warnings).toContain('TieredWarning');
  });
});
