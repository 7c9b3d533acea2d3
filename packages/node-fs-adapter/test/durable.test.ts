import fs from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { place, put, recorded, temporaryFiles, textOf, withCode } from './helpers.js';

/** The lines that say what changes names, and what is made durable: begun, and done. */
function ofInterest(lines: readonly string[] = []): string[] {
  return lines
    .filter((line) => /^(fsync|mkdir|rename|link|unlink|rmdir)!? /.test(line))
    .map((line) => line.replace(/on\/tier\/\.tiered\/tmp\/\S+/, 'TEMPORARY'))
    .map((line) => line.replaceAll(/on\/tier\/\.tiered\/members\/[\w-]+/g, 'PRESENCE'));
}

/**
 * What was done, in the order in which it was; what is begun before the last thing is done has no place in
 * it.
 */
function inOrder(lines: readonly string[] | undefined): string[] {
  const done: string[] = [];
  let underWay: string | undefined;
  for (const line of ofInterest(lines)) {
    if (line.includes('! ')) {
      expect(line.replace('!', ''), 'only what was under way has ended').toBe(underWay);
      done.push(underWay ?? '');
      underWay = undefined;
    } else {
      expect(underWay, `under way when "${line}" begins`).toBeUndefined();
      underWay = line;
    }
  }
  expect(underWay, 'under way when the operation had resolved').toBeUndefined();
  return done;
}

it('[W3] with fsync bytes, then directories, then names are on the disk before an operation resolves', async () => {
  const { root } = await place();
  const calls = await recorded('writes', root);
  expect(inOrder(calls.get('opened'))).toEqual([
    'mkdir on',
    'fsync .',
    'mkdir on/tier',
    'fsync on',
    'mkdir on/tier/.tiered',
    'fsync on/tier',
    'mkdir on/tier/.tiered/tmp',
    'fsync on/tier/.tiered',
    'mkdir on/tier/.tiered/members',
    'fsync on/tier/.tiered',
    // That this process runs is not for after a power cut.
    'mkdir PRESENCE.new',
    'rename PRESENCE.new/s PRESENCE',
    'rmdir PRESENCE.new',
  ]);
  expect(inOrder(calls.get('written'))).toEqual([
    'fsync TEMPORARY',
    'mkdir on/tier/new',
    'fsync on/tier',
    'mkdir on/tier/new/er',
    'fsync on/tier/new',
    'rename TEMPORARY on/tier/new/er/object',
    'fsync on/tier/new/er',
  ]);
  expect(inOrder(calls.get('written if absent'))).toEqual([
    'fsync TEMPORARY',
    'link TEMPORARY on/tier/new/other',
    'unlink TEMPORARY',
    'fsync on/tier/new',
  ]);
  expect(inOrder(calls.get('deleted'))).toEqual([
    'unlink on/tier/new/er/object',
    'rmdir on/tier/new/er',
    // That still holds something.
    'rmdir on/tier/new',
    'fsync on/tier/new',
  ]);
});

it('[W3] a write whose name does not get to the disk fails, and leaves nothing', async () => {
  const { root, driver } = await place({ writable: true, fsync: true });
  const { fsync } = fs;
  let syncs = 0;
  // The bytes get there.
  fs.fsync = ((fd: number, done: fs.NoParamCallback) => {
    syncs += 1;
    if (syncs === 1) fsync(fd, done);
    else done(Object.assign(new Error('EIO: fsync'), { code: 'EIO', syscall: 'fsync' }));
  }) as typeof fs.fsync;
  onTestFinished(() => void (fs.fsync = fsync));
  await expect(put(driver, 'object')).rejects.toEqual(withCode('TIERED_IO', true));
  expect(syncs).toBeGreaterThan(1);
  expect(fs.readdirSync(root)).toEqual(['.tiered']);
  expect(await temporaryFiles(root)).toEqual([]);
  fs.fsync = fsync;
  await put(driver, 'object');
  expect(await textOf(driver, 'object')).toBe('object');
});
