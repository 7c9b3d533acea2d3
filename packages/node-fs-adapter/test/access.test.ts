import fs from 'node:fs';
import path from 'node:path';
import { FileSystemDriver, type FileSystemDriverOptions } from '@tiered/node-fs-adapter';
import { describe, expect, it, onTestFinished } from 'vitest';
import { place, put, withCode } from './helpers.js';

/** The modes of all that is in a directory, and its own. */
function modes(directory: string): Record<string, string> {
  const names = fs.readdirSync(directory, { recursive: true }) as string[];
  return Object.fromEntries(
    ['.', ...names.filter((name) => !name.startsWith('.tiered/tmp/'))].map((name) => [
      name,
      (fs.statSync(path.join(directory, name)).mode & 0o7777).toString(8),
    ]),
  );
}

/** A driver that has made its root and written, once by blocking calls and once by the thread pool. */
async function written(options: Partial<FileSystemDriverOptions>): Promise<Record<string, string>> {
  const { directory } = await place();
  const found: Record<string, string>[] = [];
  for (const blockingCalls of [true, false]) {
    const root = path.join(directory, `${blockingCalls}`, 'tier');
    const driver = new FileSystemDriver({ root, writable: true, blockingCalls, ...options });
    await driver.open({});
    for (const key of ['a', 'dir/b', 'dir/sub/c', 'd', 'dir/e']) await put(driver, key);
    await driver.write('dir/f', new Uint8Array(1), { size: 1, ifAbsent: true });
    await driver.close();
    found.push(modes(root));
  }
  expect(found[0]).toEqual(found[1]);
  return found[0] ?? {};
}

/** The umask of this process until the test ends. */
function underUmask(mask: number): void {
  const before = process.umask(mask);
  onTestFinished(() => void process.umask(before));
}

const FILES = ['a', 'd', 'dir/b', 'dir/e', 'dir/f', 'dir/sub/c'];
const DIRECTORIES = ['.', 'dir', 'dir/sub'];
const of = (file: string, directory: string) => ({
  ...Object.fromEntries(FILES.map((name) => [name, file])),
  ...Object.fromEntries(DIRECTORIES.map((name) => [name, directory])),
  '.tiered': '700',
  '.tiered/tmp': '700',
  '.tiered/members': '700',
});

describe.skipIf(process.platform === 'win32').each([0o000, 0o022, 0o077, 0o177, 0o277, 0o777])(
  'under the umask %o',
  (mask) => {
    it('[W4] what is written is for its owner alone', async () => {
      underUmask(mask);
      expect(await written({})).toEqual(of('600', '700'));
    });

    it('[W4] what is written is for the group, or for everyone, if it is to be', async () => {
      underUmask(mask);
      expect(await written({ readableBy: 'group' })).toEqual(of('640', '750'));
      expect(await written({ readableBy: 'everyone' })).toEqual(of('644', '755'));
    });
  },
);

it.skipIf(process.platform === 'win32')(
  '[W4] the index and the socket of a process are for their owner, whatever the umask is',
  async () => {
    underUmask(0o777);
    const { root, driver } = await place({ writable: true });
    const home = await driver.openIndex({});
    expect(modes(root)).toMatchObject({
      '.tiered/index.db': '600',
      [`.tiered/members/${home.member}`]: '600',
    });
    await home.close();
  },
);

it.skipIf(process.platform === 'win32')(
  '[W4] directories pass on the group, if those above them do',
  async () => {
    underUmask(0o027);
    const { root, driver } = await place({ writable: true, readableBy: 'everyone' });
    fs.chmodSync(root, 0o2755);
    await put(driver, 'dir/sub/object');
    expect(modes(root)).toMatchObject({ dir: '2755', 'dir/sub': '2755' });
  },
);

it.skipIf(process.platform === 'win32')('[W4] directories that are there stay as they are', async () => {
  const { root, driver } = await place({ writable: true });
  fs.chmodSync(root, 0o751);
  fs.mkdirSync(path.join(root, 'dir'));
  fs.chmodSync(path.join(root, 'dir'), 0o715);
  await put(driver, 'dir/object');
  const again = new FileSystemDriver({ root, writable: true, readableBy: 'everyone' });
  await again.open({});
  await put(again, 'dir/other');
  await again.close();
  expect(modes(root)).toMatchObject({ '.': '751', dir: '715', 'dir/object': '600', 'dir/other': '644' });
});

it('readers that there are none of are TIERED_CONFIG_INVALID', () => {
  const options = { root: '/tmp', readableBy: 'nobody' as 'owner' };
  expect(() => new FileSystemDriver(options)).toThrow(withCode('TIERED_CONFIG_INVALID'));
});
