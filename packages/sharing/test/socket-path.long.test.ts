import { settled } from '@tiered/core/testing';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PrefetchClient } from '../src/client/client.js';
import { servePrefetcher } from '../src/server/server.js';
import { connect, drain, range, serve, socketPath, withCode } from './helpers.js';
import { ListReader } from './list-reader.js';

const modeOf = (file: string) => fs.lstatSync(file).mode & 0o777;

/** A socket that its process left behind. */
async function stale(socket: string): Promise<void> {
  const listener = net.createServer().listen(`${socket}.made`);
  await once(listener, 'listening');
  fs.renameSync(`${socket}.made`, socket);
  listener.close();
  await once(listener, 'close');
}

/** A lock whose owner was killed while it replaced the socket. */
async function staleLock(socket: string): Promise<void> {
  fs.mkdirSync(`${socket}.lock`);
  await stale(`${socket}.lock/dead`);
}

describe('the socket of a server', () => {
  it('is open to its user alone, from the first moment that it can be seen, whatever the umask', async () => {
    const before = process.umask(0);
    onTestFinished(() => void process.umask(before));
    const socket = socketPath();
    const watcher = new Worker(
      `const { lstatSync } = require('node:fs');
       const { parentPort, workerData } = require('node:worker_threads');
       parentPort.postMessage('watching');
       for (;;) {
         const stat = lstatSync(workerData, { throwIfNoEntry: false });
         if (stat) { parentPort.postMessage(stat.mode & 0o777); break; }
       }`,
      { eval: true, workerData: socket },
    );
    onTestFinished(async () => {
      await watcher.terminate();
    });
    await once(watcher, 'message');
    const [[first]] = await Promise.all([
      once(watcher, 'message'),
      serve(new ListReader([]), { path: socket }),
    ]);
    expect(first).toBe(0o600);
    expect(modeOf(socket)).toBe(0o600);
    expect(fs.readdirSync(path.dirname(socket))).toEqual([path.basename(socket)]);
  });

  it('is refused where a living server listens, which goes on', async () => {
    const reader = new ListReader(range(5));
    const server = await serve(reader);
    await expect(servePrefetcher(new ListReader([]), { path: server.path })).rejects.toEqual(
      withCode('TIERED_CONFIG_INVALID'),
    );
    expect(fs.readdirSync(path.dirname(server.path))).toEqual([path.basename(server.path)]);
    expect(await drain(await connect(server))).toEqual(range(5));
  });

  it('takes the place of one that nobody listens on', async () => {
    const socket = socketPath();
    await stale(socket);
    await expect(PrefetchClient.connect({ path: socket })).rejects.toEqual(withCode('TIERED_UNAVAILABLE'));
    // Its successor was killed while it replaced it.
    await staleLock(socket);
    const server = await serve(new ListReader(range(5)), { path: socket });
    expect(modeOf(socket)).toBe(0o600);
    expect(await drain(await connect(server))).toEqual(range(5));
  });

  it.each([
    ['', stale],
    [
      ', and a stale lock',
      async (socket: string) => {
        await stale(socket);
        await staleLock(socket);
      },
    ],
  ])('goes to one of many that start over a stale one%s at the same time', async (_, leave) => {
    for (let round = 0; round < 30; round++) {
      const socket = socketPath();
      await leave(socket);
      const starts = range(12).map(async (i) => {
        for (let turns = (i * round) % 17; turns > 0; turns--) await settled();
        return servePrefetcher(new ListReader(range(5)), { path: socket });
      });
      const outcomes = await Promise.allSettled(starts);
      const started = outcomes.filter(({ status }) => status === 'fulfilled');
      expect(started).toHaveLength(1);
      expect(await drain(await connect({ path: socket }))).toEqual(range(5));
      for (const outcome of outcomes) {
        if (outcome.status === 'fulfilled') await outcome.value.close();
        else expect(outcome.reason).toEqual(withCode('TIERED_CONFIG_INVALID'));
      }
      expect(fs.readdirSync(path.dirname(socket))).toEqual([]);
    }
  });

  it('leaves alone what is no socket', async () => {
    const file = socketPath();
    fs.writeFileSync(file, 'precious');
    const link = `${file}.link`;
    fs.symlinkSync(file, link);
    for (const place of [file, link, path.dirname(file)])
      await expect(servePrefetcher(new ListReader([]), { path: place })).rejects.toEqual(
        withCode('TIERED_CONFIG_INVALID'),
      );
    expect(fs.readFileSync(file, 'utf8')).toBe('precious');
    expect(fs.readdirSync(path.dirname(file)).sort()).toEqual(
      [path.basename(file), path.basename(link)].sort(),
    );
  });

  it('that is another one by now is not removed at the end', async () => {
    const socket = socketPath();
    const server = await servePrefetcher(new ListReader([]), { path: socket });
    fs.rmSync(socket);
    const next = await serve(new ListReader(range(3)), { path: socket });
    await server.close();
    expect(await drain(await connect(next))).toEqual(range(3));
  });

  it('is refused where none can be', async () => {
    const good = socketPath();
    const long = path.join(path.dirname(good), 'x'.repeat(100));
    for (const place of ['', 'a\0b', long, path.join(good, 'in-no-directory')])
      await expect(servePrefetcher(new ListReader([]), { path: place })).rejects.toEqual(
        withCode('TIERED_CONFIG_INVALID'),
      );
    await expect(PrefetchClient.connect({ path: long })).rejects.toEqual(withCode('TIERED_CONFIG_INVALID'));
  });
});
