import fs from 'node:fs';
import path from 'node:path';
import { Random, systemClock } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { binding } from '../src/load.js';
import { describeNative, targetOf, temporaryDirectory, threadsOn, until, versionOf } from './helpers.js';

const CONTENT = someBytes(600_000, 1);

function withFile(): { root: string; fd: number } {
  const root = temporaryDirectory();
  fs.writeFileSync(path.join(root, 'shard'), CONTENT);
  const fd = fs.openSync(path.join(root, 'shard'), 'r');
  onTestFinished(() => fs.closeSync(fd));
  return { root, fd };
}

describeNative('readAt', () => {
  it.each([false, true])('reads pieces as fs does (mayHang %s)', async (mayHang) => {
    const { root, fd } = withFile();
    const io = threadsOn(root, { mayHang, threads: 3 });
    const pieces = fc.array(fc.tuple(fc.nat(650_000), fc.nat(600_000), fc.boolean()), {
      minLength: 1,
      maxLength: 8,
    });
    await fc.assert(
      fc.asyncProperty(pieces, async (all) => {
        const read = async ([offset, length, isShared]: [number, number, boolean]) => {
          const target = targetOf(length, isShared);
          const wanted = CONTENT.subarray(offset, offset + length);
          expect((await io.readAt(fd, target, offset)).bytes).toBe(wanted.byteLength);
          expect(Buffer.compare(target.subarray(0, wanted.byteLength), wanted)).toBe(0);
        };
        await Promise.all(all.map(read));
      }),
      { numRuns: 40 },
    );
  });

  it.each([false, true])('says what the system says (mayHang %s)', async (mayHang) => {
    const { root } = withFile();
    const io = threadsOn(root, { mayHang });
    const error = { name: 'NativeError', code: 'EBADF', errno: -9, syscall: 'read' };
    await expect(io.readAt(999_999, targetOf(4), 0)).rejects.toMatchObject(error);
  });

  it('is aborted with the reason, before and after it began, and by close', async () => {
    const { root, fd } = withFile();
    const io = threadsOn(root);
    const signal = AbortSignal.abort(new Error('no more'));
    await expect(io.readAt(fd, targetOf(4), 0, { signal })).rejects.toThrow('no more');
    const closing = io.close();
    await expect(io.readAt(fd, targetOf(4), 0)).rejects.toMatchObject({ code: 'TIERED_CLOSED' });
    await closing;
    await io.close();
    expect(io.counts).toEqual({ threads: 0, idle: 0, left: 0, items: 0 });
  });
});

describeNative('readAt of a version', () => {
  it('reads that file only, and says if its name is gone', async () => {
    const { root, fd } = withFile();
    const io = threadsOn(root);
    const file = path.join(root, 'shard');
    const version = versionOf(file);
    const target = targetOf(100);
    expect(await io.readAt(fd, target, 599_950, { version })).toEqual({ bytes: 50, isUnlinked: false });
    expect(Buffer.compare(target.subarray(0, 50), CONTENT.subarray(599_950))).toBe(0);
    for (const other of ['', '0-0-0', `${version}0`, `${version}\0`])
      await expect(io.readAt(fd, target, 0, { version: other })).rejects.toMatchObject({
        code: 'OTHER_VERSION',
      });
    fs.unlinkSync(file);
    expect(await io.readAt(fd, target, 0, { version })).toEqual({ bytes: 100, isUnlinked: true });
    // Nobody asked what it is.
    expect(await io.readAt(fd, target, 0)).toEqual({ bytes: 100, isUnlinked: false });
  });

  it('reads no directory', async () => {
    const io = threadsOn(withFile().root);
    const fd = await io.open('.');
    onTestFinished(() => fs.closeSync(fd));
    await expect(io.readAt(fd, targetOf(1), 0)).rejects.toMatchObject({ code: 'NOT_A_FILE' });
  });
});

describeNative('open', () => {
  it('opens what is in the root, and nothing else', async () => {
    const { root } = withFile();
    const io = threadsOn(root);
    fs.symlinkSync('/etc/passwd', path.join(root, 'leads-out'));
    const fd = await io.open('shard');
    onTestFinished(() => fs.closeSync(fd));
    expect((await io.readAt(fd, targetOf(10), 0)).bytes).toBe(10);
    const codes = { none: 'ENOENT', 'leads-out': 'OUTSIDE', '../x': 'INVALID_KEY', '': 'INVALID_KEY' };
    for (const [key, code] of Object.entries(codes))
      await expect(io.open(key)).rejects.toMatchObject({ name: 'NativeError', code, syscall: 'open' });
    await expect(io.open('shard\0')).rejects.toThrow(RangeError);
  });

  it('leaves nothing open if it is aborted or closed at any instant', async () => {
    const { root } = withFile();
    const random = new Random(1);
    // What a test before this one has closed may be open for a moment yet.
    await until(() => binding().live() === 0);
    const before = openDescriptors();
    for (let round = 0; round < 100; round++) {
      const io = threadsOn(root, { threads: 2 });
      const controller = new AbortController();
      const opened: number[] = [];
      const open = async () => opened.push(await io.open('shard', { signal: controller.signal }));
      const opening = Promise.allSettled(Array.from({ length: 20 }, open));
      for (let turns = random.below(3); turns > 0; turns--) await systemClock.turn();
      if (random.below(2) === 0) controller.abort();
      await io.close();
      await opening;
      for (const fd of opened) fs.closeSync(fd);
    }
    await until(() => binding().live() === 0);
    expect(openDescriptors()).toBe(before);
  });
});

function openDescriptors(): number {
  return fs.readdirSync('/proc/self/fd').length;
}
