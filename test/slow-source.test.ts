import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { expect, it, onTestFinished } from 'vitest';
import { SlowMount } from '../tools/fuse/slow-mount.js';

const KEYS = Array.from({ length: 64 }, (_, i) => `${i}`);
const missing = await SlowMount.missing();

it.skipIf(missing !== undefined && process.env['CI'] !== 'true')(
  `reads of a slow source in Node’s pool have the process warned (needs: ${missing ?? 'what is here'})`,
  async () => {
    const mirrored = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-test-'));
    onTestFinished(() => fs.rm(mirrored, { recursive: true }));
    for (const key of KEYS) await fs.writeFile(path.join(mirrored, key), key);
    const mount = await SlowMount.start(mirrored, { openMs: 5, readMs: 5 });
    onTestFinished(() => mount.close());
    const driver = new FileSystemDriver({ root: mount.directory, nativeThreads: 0, maxOpenFiles: 1 });
    await driver.open({});
    onTestFinished(() => driver.close());
    const found: string[] = [];
    const listen = ({ message }: Error) => void found.push(message);
    process.on('warning', listen);
    onTestFinished(() => void process.off('warning', listen));
    const read = async (key: string) =>
      Buffer.from(await driver.read(key, { offset: 0, length: 10 })).toString();
    while (found.length === 0) expect(await Promise.all(KEYS.map(read))).toEqual(KEYS);
    expect(found).toEqual([expect.stringContaining('UV_THREADPOOL_SIZE=64')]);
  },
);
