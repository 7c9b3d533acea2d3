import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { bytesOnDisk } from '../bench/gateway/disk.js';
import { timesOf, treeMs, treeOf, treeRss } from '../bench/lib/process-tree.js';

describe.skipIf(process.platform !== 'linux')('what a process and its children take', () => {
  it('is that of all of them', async () => {
    // The shell starts another program, which says its number, and waits for it.
    const shell = spawn('sh', ['-c', 'sh -c "echo \\$\\$; read line" <&0; true'], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    onTestFinished(() => void shell.kill());
    const [said] = (await once(shell.stdout, 'data')) as [Buffer];
    const { pid = 0 } = shell;
    expect(treeOf(pid)).toEqual([pid, Number(said.toString())]);
    expect(treeOf(process.pid)).toContain(Number(said.toString()));
    expect(treeRss(process.pid)).toBeGreaterThan(treeRss(pid));
    const { ownMs } = timesOf('self');
    expect(treeMs(process.pid)).toBeGreaterThanOrEqual(ownMs);
    const ended = once(shell, 'exit');
    shell.stdin.end();
    await ended;
    expect(treeRss(pid)).toBe(0);
  });
});

it('counts what files take of a disk, whole blocks each', async () => {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-test-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  expect(await bytesOnDisk(path.join(directory, 'missing'))).toBe(0);
  await mkdir(path.join(directory, 'below'));
  await writeFile(path.join(directory, 'below', 'file'), Buffer.alloc(100_000, 1));
  const bytes = await bytesOnDisk(directory);
  expect(bytes % 512).toBe(0);
  expect(bytes).toBeGreaterThanOrEqual(100_000);
});
