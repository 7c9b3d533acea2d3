import { FileSystemDriver } from '@tiered/node-fs-adapter';
import os from 'node:os';
import { describe, expect, it } from 'vitest';
import { fileSystemOf } from '../src/root/file-system.js';

const mounts = (...lines: string[]) =>
  Promise.resolve(`22 27 0:21 / /proc rw - proc proc rw\n${lines.join('\n')}\n`);
const ROOT = '27 1 0:9 / / rw,relatime - overlay overlay rw';

describe('what tells the file system of a source from another one', () => {
  it('[V5] of a server is what it exports, wherever it is mounted, and whatever number the mount has', async () => {
    const nfs = (device: string, at: string, source: string, root = '/') =>
      fileSystemOf(
        `${at}/train`,
        mounts(ROOT, `40 27 ${device} ${root} ${at} rw shared:1 - nfs4 ${source} rw,vers=4.2`),
      );
    const one = await nfs('0:50', '/mnt/a', 'server:/export');
    expect(one).toMatch(/^remote-[0-9a-f]{16}$/);
    expect(await nfs('0:77', '/srv/b', 'server:/export')).toBe(one);
    expect(await nfs('0:50', '/mnt/a', 'server:/other')).not.toBe(one);
    expect(await nfs('0:50', '/mnt/a', 'server:/export', '/below')).not.toBe(one);
  });

  it('[V5] is that of the nearest mount, and of the last one at a place', async () => {
    const fuse = (at: string, source: string) => `40 27 0:50 / ${at} rw - fuse.sshfs ${source} rw`;
    const text = (...lines: string[]) => fileSystemOf('/mnt/my data/train', mounts(ROOT, ...lines));
    const expected = await text(fuse('/mnt/my\\040data', 'me@host:/x'));
    expect(expected).toBeDefined();
    expect(
      await text(fuse('/mnt/my\\040data', 'me@host:/x'), fuse('/mnt', 'other:/y'), fuse('/mnt/my', 'z:/')),
    ).toBe(expected);
    expect(await text(fuse('/mnt/my\\040data', 'other:/y'), fuse('/mnt/my\\040data', 'me@host:/x'))).toBe(
      expected,
    );
  });

  it('[V5] is not known of overlays and of memory, and where the kernel lists no mounts', async () => {
    expect(await fileSystemOf('/data', mounts(ROOT))).toBeUndefined();
    expect(
      await fileSystemOf('/data', mounts(ROOT, '40 27 0:50 / /data rw - tmpfs tmpfs rw')),
    ).toBeUndefined();
    expect(await fileSystemOf('/data', Promise.resolve(''))).toBeUndefined();
  });
});

it('[V5] a source that is named is known by its name, a tier by its place', async () => {
  const root = os.tmpdir();
  const source = new FileSystemDriver({ root, identity: 'imagenet-2012' });
  await source.open({});
  expect(source.identity).toBe('data:imagenet-2012/');
  await source.close();
  expect(() => new FileSystemDriver({ root, writable: true, identity: 'x' })).toThrow(/identity/);
  for (const identity of ['', 'two words'])
    expect(() => new FileSystemDriver({ root, identity })).toThrow(/identity/);
});
