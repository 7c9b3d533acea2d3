import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, watch } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Processes } from '../../tools/servers/processes.js';

let parent: string;

beforeEach(() => {
  parent = mkdtempSync(path.join(os.tmpdir(), 'tiered-processes-'));
});

afterEach(() => rmSync(parent, { recursive: true, force: true }));

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Resolves when nothing is left in the directory. */
async function empty(directory: string): Promise<void> {
  const watcher = watch(directory);
  try {
    while (readdirSync(directory).length > 0) await once(watcher, 'change');
  } finally {
    watcher.close();
  }
}

it.each(['SIGTERM', 'SIGINT', 'SIGKILL', 'itself'] as const)(
  'no program and no directory is left of a process that ended by %s',
  async (signal) => {
    const script = path.join(import.meta.dirname, '../children/run-and-wait.ts');
    const args = ['--conditions=tiered-source', '--import', 'tsx', script, parent];
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    const exited = once(child, 'exit');
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    expect(isRunning(Number(line))).toBe(true);
    if (signal === 'itself') child.stdin.end();
    else child.kill(signal);
    await exited;
    await empty(parent);
    expect(isRunning(Number(line))).toBe(false);
  },
);

it('nothing is left after close, which may be called twice', async () => {
  const processes = new Processes(parent, 'kept-');
  const file = path.join(processes.directory, 'id');
  const script = 'echo $$ > id.new && mv id.new id && exec sleep 1000';
  await processes.start('sleep', 'sh', ['-c', script], async () => existsSync(file));
  const pid = Number(readFileSync(file, 'utf8'));
  await Promise.all([processes.close(), processes.close()]);
  expect(isRunning(pid)).toBe(false);
  expect(readdirSync(parent)).toEqual([]);
});

it('a program that cannot be started, fails, or is there when all is closed rejects, and its log can be read', async () => {
  const processes = new Processes(parent, 'kept-');
  await expect(processes.run('none', '/no/such/program', [])).rejects.toThrow();
  const dies = processes.start('dies', 'sh', ['-c', 'echo why; exit 3'], async () => false);
  await expect(dies).rejects.toThrow();
  expect(processes.endOfLogs()).toContain('why');
  const stays = expect(processes.run('stays', 'sleep', ['1000'])).rejects.toThrow();
  await processes.close();
  await stays;
  await expect(processes.run('late', 'true', [])).rejects.toThrow();
});
