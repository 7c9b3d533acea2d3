import { execFile } from 'node:child_process';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { platform } from '../packages/native/src-c/compile.js';

const root = path.join(import.meta.dirname, '..');

/** A clone as `npm ci` leaves it, in which nothing is compiled yet. */
async function clone(): Promise<string> {
  const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-test-'));
  onTestFinished(() => fs.rm(directory, { recursive: true }));
  for (const name of ['package.json', 'tools/c', 'packages/native/src-c'])
    await fs.cp(path.join(root, name), path.join(directory, name), { recursive: true });
  await fs.symlink(path.join(root, 'node_modules'), path.join(directory, 'node_modules'));
  return directory;
}

/** A directory of programs with a compiler that fails, or none. */
async function programs(compiler?: string): Promise<string> {
  const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-test-'));
  onTestFinished(() => fs.rm(directory, { recursive: true }));
  if (compiler !== undefined) await fs.writeFile(path.join(directory, 'cc'), compiler, { mode: 0o755 });
  return directory;
}

/** Does as `npm ci`, and returns what it printed and whether the addon is there. */
async function install(PATH = process.env['PATH']): Promise<{ lines: string[]; isBuilt: boolean }> {
  const directory = await clone();
  const script = path.join(directory, 'tools/c/at-install.js');
  const { stdout } = await promisify(execFile)(process.execPath, [script], { env: { ...process.env, PATH } });
  const addon = path.join(directory, 'packages/native/build', platform(), 'tiered-native.node');
  const isBuilt = await fs.access(addon).then(
    () => true,
    () => false,
  );
  return { lines: stdout.split('\n').filter((line) => line !== ''), isBuilt };
}

it.skipIf(process.platform !== 'linux')(
  'npm ci says in a line why it compiles nothing, and succeeds',
  async () => {
    const none = await install(await programs());
    expect(none).toEqual({ lines: [expect.stringContaining('there is no C compiler')], isBuilt: false });
    const failing = await install(await programs('#!/bin/sh\necho "no stdio.h\nat all" >&2\nexit 1\n'));
    expect(failing).toEqual({
      lines: [expect.stringContaining('no stdio.h. What it needs: apt-get')],
      isBuilt: false,
    });
  },
);

it.skipIf(process.platform !== 'linux')(
  'npm ci compiles the native part where a C compiler is',
  async (context) => {
    const { lines, isBuilt } = await install();
    const missing = lines.find((line) => line.includes('there is no C compiler'));
    expect(process.env['CI'] === 'true' ? missing : undefined).toBeUndefined();
    context.skip(missing !== undefined, missing);
    expect({ lines, isBuilt }).toEqual({ lines: [], isBuilt: true });
  },
);
