import { MemoryDirectory } from '@tiered/interpose';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from './helpers.js';

describe('a directory in memory', () => {
  it('[I13] is for this user alone, and ends with all that is in it', async () => {
    const above = temporaryDirectory();
    const memory = await MemoryDirectory.make(above);
    expect(path.dirname(memory.path)).toBe(above);
    expect(fs.statSync(memory.path).mode & 0o777).toBe(0o700);
    fs.mkdirSync(path.join(memory.path, '0'));
    await memory.close();
    await memory.close();
    expect(fs.readdirSync(above)).toEqual([]);
  });

  it('[I13] takes the place of those whose processes are gone, and of no others', async () => {
    const above = temporaryDirectory();
    await using used = await MemoryDirectory.make(above);
    const [gone, young, old, other] = ['gone', 'young', 'old', 'other'].map((name) => {
      const directory = path.join(above, name === 'other' ? name : `tiered-memory-${name}`);
      fs.mkdirSync(path.join(directory, '0'), { recursive: true });
      return directory;
    });
    // A socket whose process is gone: closing it would remove its file, so that it is renamed before.
    const server = net.createServer().listen(path.join(above, 'socket'));
    await once(server, 'listening');
    fs.renameSync(path.join(above, 'socket'), path.join(gone ?? '', 'socket'));
    await new Promise((resolve) => server.close(resolve));
    fs.utimesSync(old ?? '', 0, 0);
    await using next = await MemoryDirectory.make(above);
    const left = [used.path, next.path, young, other].map((directory) => path.basename(directory ?? ''));
    expect(fs.readdirSync(above).sort()).toEqual(left.sort());
  });
});
