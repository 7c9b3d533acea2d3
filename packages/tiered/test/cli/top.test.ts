import { Hierarchy, MemoryDriver } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { openDataset, serveMonitor, type MonitorLook } from 'tiered';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { onTerminal, simulated, tiered } from './run-tiered.js';

const BYTES = 10_000;
let directory: string;
let sockets: string;
let source: string;
beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-top-'));
  sockets = path.join(directory, 'run');
  source = path.join(directory, 'data');
  await mkdir(source);
  for (const key of ['a', 'b', 'c']) await writeFile(path.join(source, key), someBytes(BYTES, 1));
});
afterEach(() => rm(directory, { recursive: true }));
afterEach(() => void vi.unstubAllEnvs());

const watched = () => openDataset({ source, tiers: ['ram:2MiB'], monitor: sockets, progress: false });
const top = (...args: string[]) => tiered('top', '--directory', sockets, ...args);

describe('tiered top', () => {
  it('shows what a training does', async () => {
    await using data = await watched();
    const before = await top('--count', '1');
    expect(before).toMatchObject({ code: 0, messages: '' });
    expect(before.out).toContain(`process ${process.pid}`);
    expect(before.out).toContain('no reads');
    for await (const sample of data.epochs({ epochs: 3 })) expect(sample.data.byteLength).toBe(BYTES);
    await data.hierarchy.idle();
    const { out } = await top('--count', '1');
    expect(out).toMatch(/tier 0, memory: 29.3 KiB of 2 MiB \(1 %\); \d+ reads?, .* so far/);
    expect(out).toContain('source, fs:');
    expect(out).toContain('1.00 x the dataset in all');
    expect(out).toMatch(/placing: 0 fetches with 0 B; last [abc] on tier 0/);
    expect(out).toMatch(/prefetcher, in epoch 2: 9 samples, 87.9 KiB/);
    expect(out).toMatch(/limit: ./);
    const looks = JSON.parse((await top('--count', '1', '--json')).out) as { look: MonitorLook }[];
    const [{ look } = { look: undefined }] = looks;
    expect(look?.hierarchy.reads).toEqual(data.hierarchy.stats().reads);
    expect(look?.prefetcher).toMatchObject({ epoch: 2, samples: 9, bytes: 9 * BYTES });
  });

  it('shows rates from the second look on, of every process', async () => {
    await using one = await watched();
    await using other = await watched();
    const { out } = await simulated('top', '--directory', sockets, '--count', '3', '--interval', '2');
    expect(out.match(/^process /gm)).toHaveLength(6);
    expect(out.match(/so far/g)).toHaveLength(4);
    expect(out.match(/0 reads\/s, 0 B\/s/g)).toHaveLength(8);
    expect([one, other].map(({ keys }) => keys.length)).toEqual([3, 3]);
  });

  it('draws in place on a terminal', async () => {
    await using data = await watched();
    const { out, drawn } = await onTerminal('top', '--directory', sockets, '--count', '3');
    expect(out).toBe('');
    // What is the same as before is not drawn again.
    expect(drawn.match(/process \d+, watched/g)).toHaveLength(2);
    // Up a line, which is erased first.
    expect(drawn).toContain('\u001B[2K\u001B[1A');
    expect(data.keys).toHaveLength(3);
  });

  it('fails where nobody is, and where nobody was named', async () => {
    const nobody = await top('--count', '1');
    expect(nobody.code).toBe(1);
    expect(nobody.messages).toContain(`No process offers a socket in ${sockets}`);
    vi.stubEnv('XDG_RUNTIME_DIR', directory);
    const own = await tiered('top');
    expect([own.code, own.messages]).toEqual([1, expect.stringContaining(`in ${directory}/tiered-`)]);
    expect(await top('tiers.yaml')).toMatchObject({ code: 2 });
    const file = path.join(directory, 'tiers.yaml');
    await tiered('config', 'init', file, '--source', source);
    const unnamed = await tiered('top', file);
    expect(unnamed).toMatchObject({ code: 1, messages: own.messages });
  });

  it('finds the processes of a configuration', async () => {
    const file = path.join(directory, 'tiers.json');
    await writeFile(file, JSON.stringify({ source: { driver: 'fs', root: 'data' }, monitor: 'run' }));
    await using data = await openDataset(file);
    expect(await readdir(sockets)).toHaveLength(1);
    const { code, out } = await tiered('top', file, '--count', '1');
    expect(code).toBe(0);
    expect(out).toContain(`process ${process.pid}`);
    expect(data.keys).toHaveLength(3);
  });

  it('passes over a process that does not answer', async () => {
    await using data = await watched();
    const stopped = net.createServer();
    stopped.listen(path.join(sockets, 'stopped.sock'));
    await once(stopped, 'listening');
    onTestFinished(() => void stopped.close());
    const { code, out } = await top('--count', '1');
    expect(code).toBe(0);
    expect(out).toContain('stopped.sock: does not answer');
    expect(out).toContain(`process ${process.pid}`);
    expect(data.keys).toHaveLength(3);
  });

  it('[U1] refuses sockets that others may have put there', async () => {
    await using data = await watched();
    await chmod(sockets, 0o777);
    const { code, messages } = await top('--count', '1');
    expect(code).toBe(1);
    expect(messages).toContain('others may write to');
    expect(data.keys).toHaveLength(3);
  });
});

describe('the socket of a process', () => {
  it('[U1] is open to its user alone, and gone with the hierarchy', async () => {
    const data = await watched();
    const [name = ''] = await readdir(sockets);
    expect((await stat(path.join(sockets, name))).mode & 0o777).toBe(0o600);
    expect((await stat(sockets)).mode & 0o777).toBe(0o700);
    await data.close();
    expect(await readdir(sockets)).toEqual([]);
  });

  it('is removed by the next process if its own was killed', async () => {
    const program = `require('net').createServer().listen(${JSON.stringify(path.join(directory, 'run/1-a.sock'))}, () => process.kill(process.pid, 'SIGKILL'))`;
    await mkdir(sockets);
    await once(execFile(process.execPath, ['-e', program]), 'exit');
    expect(await readdir(sockets)).toEqual(['1-a.sock']);
    expect(await top('--count', '1')).toMatchObject({ code: 1 });
    await using data = await watched();
    expect(await readdir(sockets)).toHaveLength(1);
    expect(await readdir(sockets)).not.toContain('1-a.sock');
    expect(data.keys).toHaveLength(3);
  });

  it('serves a hierarchy that was assembled from parts, until it is closed itself', async () => {
    await using hierarchy = await new Hierarchy({ source: new MemoryDriver() }).open();
    const monitor = await serveMonitor(hierarchy, { directory: sockets });
    expect((await top('--count', '1')).out).toContain('nothing is known of its size');
    await monitor.close();
    await monitor.close();
    expect(await readdir(sockets)).toEqual([]);
    expect(hierarchy.listenerCount('placed')).toBe(0);
    await writeFile(path.join(directory, 'file'), '');
    await expect(serveMonitor(hierarchy, { directory: path.join(directory, 'file') })).rejects.toMatchObject({
      code: 'TIERED_CONFIG_INVALID',
    });
  });
});
