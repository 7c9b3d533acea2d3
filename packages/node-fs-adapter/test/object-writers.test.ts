import fs from 'node:fs';
import path from 'node:path';
import { Random } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import { describe, expect, it } from 'vitest';
import {
  WAYS,
  descriptorsBelow,
  keysOf,
  onLinux,
  place,
  put,
  temporaryFiles,
  textOf,
  withCode,
  type Place,
} from './helpers.js';

/** Nothing but the private directory, and no file in that. */
async function expectNoTrace({ root, driver }: Place): Promise<void> {
  expect(await temporaryFiles(root)).toEqual([]);
  expect(fs.readdirSync(root)).toEqual(['.tiered']);
  expect(driver.openFiles).toBe(0);
  if (!onLinux.skip) expect(await descriptorsBelow(root)).toBe(0);
}

describe.each(WAYS)('an object written in parts: $way', (options) => {
  it('has each part in its place, in whatever order and however many at a time they came', async () => {
    const there = await place({ writable: true, ...options });
    const random = new Random(5);
    for (const size of [1, 4096, 300_000, 3_000_001]) {
      const bytes = someBytes(size, size);
      const writer = await there.driver.create('dir/object', { size });
      const cuts = [0, size, ...Array.from({ length: 6 }, () => random.below(size + 1))].sort(
        (a, b) => a - b,
      );
      const parts = cuts.slice(1).map((end, i) => [cuts[i] ?? 0, end] as const);
      await Promise.all(
        parts.reverse().map(([offset, end]) => writer.writeAt(bytes.subarray(offset, end), { offset })),
      );
      const back = new Uint8Array(size + 10);
      expect(await writer.readInto(back, { offset: 0 })).toBe(size);
      expect(Buffer.compare(back.subarray(0, size), bytes)).toBe(0);
      expect(await keysOf(there.driver)).toEqual(size === 1 ? [] : ['dir/object']);
      await writer.publish({});
      expect(fs.readFileSync(path.join(there.root, 'dir/object')).equals(bytes)).toBe(true);
      expect(await temporaryFiles(there.root)).toEqual([]);
      expect(there.driver.openFiles).toBe(0);
    }
  });

  it('gives its own bytes to reads that are under way while it is published or discarded, and of no other file', async () => {
    const { driver } = await place({ writable: true, ...options });
    const bytes = someBytes(4096, 1);
    const other = new Uint8Array(4096).fill(1);
    for (let round = 0; round < 50; round++) {
      const writer = await driver.create('object', { size: 4096 });
      await writer.writeAt(bytes, { offset: 0 });
      // More than the thread pool takes at once.
      const targets = Array.from({ length: 40 }, () => new Uint8Array(4096));
      const reads = Promise.all(targets.map((target) => writer.readInto(target, { offset: 0 })));
      const ended = round % 2 === 0 ? writer.publish({}) : writer.discard();
      // Files that are opened meanwhile get the next free descriptors.
      for (let i = 0; i < 4; i++) await driver.write(`other ${i}`, other, { size: 4096 });
      expect(await reads).toEqual(targets.map(() => 4096));
      for (const target of targets) expect(Buffer.compare(target, bytes)).toBe(0);
      await ended;
    }
  });

  it('is served as soon as it is published, also to who has read the one of before', async () => {
    const { driver } = await place({ writable: true, ...options });
    await put(driver, 'object', 'old');
    expect(await textOf(driver, 'object')).toBe('old');
    const writer = await driver.create('object', { size: 3 });
    await writer.writeAt(Buffer.from('new'), { offset: 0 });
    expect(await textOf(driver, 'object')).toBe('old');
    await writer.publish({});
    expect(await textOf(driver, 'object')).toBe('new');
    await writer.discard();
    expect(await textOf(driver, 'object')).toBe('new');
  });

  it('leaves no trace if it is discarded: before its parts, among them, and after a publish that failed', async () => {
    const there = await place({ writable: true, ...options });
    const empty = await there.driver.create('a/b', { size: 3 });
    await empty.discard();
    const begun = await there.driver.create('a/b', { size: 500_000 });
    await begun.writeAt(new Uint8Array(100), { offset: 5 });
    const late = begun.writeAt(new Uint8Array(400_000), { offset: 1000 });
    await Promise.all([begun.discard(), begun.discard()]);
    await late;
    await begun.discard();
    const short = await there.driver.create('a/b', { size: 3 });
    await short.writeAt(new Uint8Array(2), { offset: 0 });
    await expect(short.publish({})).rejects.toEqual(withCode('TIERED_SIZE_MISMATCH'));
    await short.discard();
    const long = await there.driver.create('a/b', { size: 3 });
    await long.writeAt(new Uint8Array(2), { offset: 2 });
    await expect(long.publish({})).rejects.toEqual(withCode('TIERED_SIZE_MISMATCH'));
    await long.discard();
    await expectNoTrace(there);
  });

  it('that stands in the way of another is TIERED_KEY_CONFLICT, and can be discarded', async () => {
    const there = await place({ writable: true, ...options });
    const writer = await there.driver.create('a/b', { size: 0 });
    await put(there.driver, 'a', 'a file');
    await expect(writer.publish({})).rejects.toEqual(withCode('TIERED_KEY_CONFLICT'));
    await writer.discard();
    expect(await temporaryFiles(there.root)).toEqual([]);
    expect(await textOf(there.driver, 'a')).toBe('a file');
  });

  it('counts as an open file until it ends, and is discarded when the driver is closed', async () => {
    const there = await place({ writable: true, ...options });
    const [one, two] = [
      await there.driver.create('one', { size: 1 }),
      await there.driver.create('two', { size: 1 }),
    ];
    expect(there.driver.openFiles).toBe(2);
    await one.writeAt(new Uint8Array(1), { offset: 0 });
    await there.driver.close();
    await expectNoTrace(there);
    await Promise.all([one.discard(), two.discard()]);
    await there.driver.open({});
    expect(await keysOf(there.driver)).toEqual([]);
  });

  it('is not made where no file may be, and not by a driver for reading', async () => {
    const { root, driver } = await place({ writable: true, ...options });
    for (const key of ['../x', '/x', '.tiered/x', 'a//b'])
      await expect(driver.create(key, { size: 0 }), key).rejects.toEqual(withCode('TIERED_KEY_INVALID'));
    expect(await temporaryFiles(root)).toEqual([]);
    const reader = (await place(options)).driver;
    await expect(reader.create('x', { size: 0 })).rejects.toEqual(withCode('TIERED_UNSUPPORTED'));
  });

  it('is not moved in through a link that leads outside', async () => {
    const there = await place({ writable: true, ...options });
    const writer = await there.driver.create('dir/x', { size: 0 });
    fs.symlinkSync('../outside', path.join(there.root, 'dir'));
    await expect(writer.publish({})).rejects.toEqual(withCode('TIERED_KEY_INVALID'));
    await writer.discard();
    expect(fs.existsSync(path.join(there.outside, 'x'))).toBe(false);
    expect(await temporaryFiles(there.root)).toEqual([]);
  });
});

it('an error of the pieces of a write is told as it is, also if it looks like one of the system', async () => {
  const there = await place({ writable: true });
  const theirs = Object.assign(new Error('EIO: read'), { code: 'EIO', syscall: 'read', errno: -5 });
  const pieces = async function* () {
    yield new Uint8Array(10);
    throw theirs;
  };
  await expect(there.driver.write('object', pieces(), { size: 20 })).rejects.toBe(theirs);
  await expectNoTrace(there);
});
