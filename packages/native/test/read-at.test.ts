import fs from 'node:fs';
import path from 'node:path';
import { someBytes } from '@tiered/core/testing';
import fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { describeNative, targetOf, temporaryDirectory, threadsOn } from './helpers.js';

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
          expect(await io.readAt(fd, target, offset)).toBe(wanted.byteLength);
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
    expect(() => io.tryReadAt(999_999, targetOf(4), 0)).toThrow(expect.objectContaining(error));
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

describeNative('tryReadAt', () => {
  it('reads at once what is in memory, or says that it would wait', async () => {
    const { root, fd } = withFile();
    const io = threadsOn(root);
    for (const isShared of [true, false]) {
      const target = targetOf(1000, isShared);
      const count = io.tryReadAt(fd, target, 500);
      // A file system may not know whether it would wait; then it is never said that it would not.
      if (count === undefined) continue;
      expect(count).toBe(1000);
      expect(Buffer.compare(target, CONTENT.subarray(500, 1500))).toBe(0);
      expect(io.tryReadAt(fd, target, 599_990)).toBe(10);
    }
  });
});
