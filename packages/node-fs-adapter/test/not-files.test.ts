import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { expect, it, onTestFinished, describe } from 'vitest';
import {
  descriptorsBelow,
  keysOf,
  onLinux,
  place,
  put,
  settledTo,
  textOf,
  textsOf,
  withCode,
} from './helpers.js';

const missing = withCode('TIERED_NOT_FOUND');

/** What can stand in a directory and is no object; each made at a path. */
const NOT_FILES: Record<string, (at: string) => unknown> = {
  'a FIFO': (at) => execFileSync('mkfifo', [at]),
  'a link to a FIFO': (at) => {
    execFileSync('mkfifo', [`${at}-itself`]);
    fs.symlinkSync(`${path.basename(at)}-itself`, at);
  },
  'a socket': async (at) => {
    const server = net.createServer().listen(at);
    await once(server, 'listening');
    onTestFinished(async () => {
      await once(server.close(), 'close');
    });
  },
  'an empty directory': (at) => fs.mkdirSync(at),
  'a directory with files': (at) => {
    fs.mkdirSync(at);
    fs.writeFileSync(path.join(at, 'file'), 'a file');
  },
  'a link to a directory': (at) => fs.symlinkSync('.', at),
};

describe.skipIf(process.platform === 'win32')('what is no regular file', () => {
  it.each(Object.entries(NOT_FILES))(
    '%s is no object: TIERED_NOT_FOUND at once, and nothing stays open',
    async (_, make) => {
      // Blocking reads last: a driver that waits for a writer there would stop the test runner too.
      for (const blockingCalls of [false, true]) {
        const { root, driver } = await place({ blockingCalls });
        await make(path.join(root, 'thing'));
        await expect(driver.stat('thing', {})).rejects.toEqual(missing);
        await expect(textOf(driver, 'thing')).rejects.toEqual(missing);
        await expect(driver.readInto('thing', new Uint8Array(5), { offset: 0 })).rejects.toEqual(missing);
        expect(await textsOf(driver, ['thing', 'thing/below'])).toEqual([missing, missing]);
        await expect(driver.stat('thing/below', {})).rejects.toEqual(missing);
        await expect(textOf(driver, 'thing/below')).rejects.toEqual(missing);
        const inside = fs.existsSync(path.join(root, 'thing', 'file')) ? ['thing/file'] : [];
        expect(await keysOf(driver)).toEqual(inside);
        await settledTo(driver, 0);
      }
    },
  );

  it('a device is out of the root, whatever it would give', async () => {
    const { root, driver } = await place();
    for (const device of ['/dev/zero', '/dev/tty']) {
      fs.symlinkSync(device, path.join(root, path.basename(device)));
      await expect(driver.stat(path.basename(device), {})).rejects.toEqual(withCode('TIERED_KEY_INVALID'));
    }
    expect(await textsOf(driver, ['zero'])).toEqual([withCode('TIERED_KEY_INVALID')]);
    await expect(textOf(driver, 'zero')).rejects.toEqual(withCode('TIERED_KEY_INVALID'));
    expect(driver.openFiles).toBe(0);
  });

  it.skipIf(onLinux.skip)('a FIFO that takes the place of a file is not waited for', async () => {
    const { root, driver } = await place();
    fs.writeFileSync(path.join(root, 'file'), 'bytes');
    expect(await textOf(driver, 'file')).toBe('bytes');
    fs.rmSync(path.join(root, 'file'));
    execFileSync('mkfifo', [path.join(root, 'file')]);
    await expect(driver.stat('file', {})).rejects.toEqual(missing);
    await driver.close();
    await driver.open({});
    await expect(textOf(driver, 'file')).rejects.toEqual(missing);
    await settledTo(driver, 0);
    expect(await descriptorsBelow(root)).toBe(0);
  });

  it('deleting a name that is a directory is no error, as of any missing object, and removes nothing', async () => {
    const { driver } = await place({ writable: true });
    await put(driver, 'dir/object');
    await driver.delete('dir', {});
    expect(await textOf(driver, 'dir/object')).toBe('dir/object');
  });
});
