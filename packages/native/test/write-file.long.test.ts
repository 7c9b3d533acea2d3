import fs from 'node:fs';
import path from 'node:path';
import { loadChecksum } from '@tiered/core/internal';
import { someBytes } from '@tiered/core/testing';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { describeNative, targetOf, temporaryDirectory, threadsOn } from './helpers.js';

function withDirectories(): string {
  const root = temporaryDirectory();
  for (const directory of ['tmp', 'to']) fs.mkdirSync(path.join(root, directory));
  return root;
}

function partOf(length: number, seed: number, isShared: boolean): Uint8Array {
  const part = targetOf(length, isShared);
  part.set(someBytes(length, seed));
  return part;
}

const names = { temporary: 'tmp/1', target: 'to/file' };

describeNative('writeFile', () => {
  it.each([
    [false, false],
    [false, true],
    [true, false],
    [true, true],
  ])(
    'writes the parts and sums them as the SDK does (mayHang %s, areFixed %s)',
    async (mayHang, areFixed) => {
      const root = withDirectories();
      const io = threadsOn(root, { mayHang });
      const checksum = await loadChecksum();
      const parts = fc.array(fc.tuple(fc.oneof(fc.nat(10), fc.nat(600_000)), fc.boolean()), { maxLength: 5 });
      await fc.assert(
        fc.asyncProperty(
          parts,
          fc.oneof(fc.constant(0), fc.integer({ min: 1000, max: 1_000_000 })),
          async (sizes, sumEvery) => {
            const bytes = sizes.map(([length, isShared], i) => partOf(length, i, isShared));
            const whole = Buffer.concat(bytes);
            const sums = await io.writeFile({ ...names, parts: bytes, areFixed, sumEvery });
            expect(Buffer.compare(fs.readFileSync(path.join(root, 'to/file')), whole)).toBe(0);
            const expected: bigint[] = [];
            for (let at = 0; sumEvery > 0 && at < whole.byteLength; at += sumEvery)
              expected.push(checksum.bytes(whole.subarray(at, at + sumEvery)));
            expect([...sums]).toEqual(expected);
          },
        ),
        { numRuns: 30 },
      );
      expect(fs.readdirSync(path.join(root, 'tmp'))).toEqual([]);
    },
  );

  it('gives the mode whatever the umask is, and syncs', async () => {
    const root = withDirectories();
    const io = threadsOn(root);
    const before = process.umask(0o077);
    try {
      await io.writeFile({ ...names, parts: [], mode: 0o664, fsync: true });
    } finally {
      process.umask(before);
    }
    expect(fs.statSync(path.join(root, 'to/file')).mode & 0o777).toBe(0o664);
    await io.writeFile({ ...names, target: 'at-root', parts: [Buffer.from('x')] });
    expect(fs.statSync(path.join(root, 'at-root')).mode & 0o777).toBe(0o600);
  });

  it('takes the place of another file, but not with ifAbsent, of which one of many succeeds', async () => {
    const root = withDirectories();
    const io = threadsOn(root);
    const write = (i: number) =>
      io.writeFile({ temporary: `tmp/${i}`, target: 'to/one', parts: [Buffer.from(`${i}`)], ifAbsent: true });
    const settled = await Promise.allSettled(Array.from({ length: 20 }, (_, i) => write(i)));
    const failures = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
    expect(failures).toHaveLength(19);
    for (const error of failures) expect(error).toMatchObject({ code: 'EEXIST', syscall: 'publish' });
    await io.writeFile({ ...names, target: 'to/one', parts: [Buffer.from('other')] });
    expect(fs.readFileSync(path.join(root, 'to/one'), 'utf8')).toBe('other');
    expect(fs.readdirSync(path.join(root, 'tmp'))).toEqual([]);
  });

  it('says at which step it failed, and leaves nothing behind', async () => {
    const root = withDirectories();
    const outside = temporaryDirectory();
    fs.symlinkSync(outside, path.join(root, 'out'));
    fs.mkdirSync(path.join(root, 'to/directory'));
    fs.writeFileSync(path.join(root, 'tmp/there'), '');
    const io = threadsOn(root);
    const cases = [
      [{ target: 'none/file' }, 'open-directory', 'ENOENT'],
      [{ target: 'out/file' }, 'open-directory', 'OUTSIDE'],
      [{ temporary: 'out/file' }, 'open-directory', 'OUTSIDE'],
      [{ target: '../file' }, 'open-directory', 'INVALID_KEY'],
      [{ target: '/file' }, 'open-directory', 'INVALID_KEY'],
      [{ target: 'to/' }, 'open-directory', 'INVALID_KEY'],
      [{ temporary: 'tmp/there' }, 'create', 'EEXIST'],
      [{ target: 'to/directory' }, 'publish', 'EISDIR'],
      [{ target: 'to/directory', ifAbsent: true }, 'publish', 'EEXIST'],
    ] as const;
    for (const [change, syscall, code] of cases) {
      const write = io.writeFile({ ...names, parts: [Buffer.from('x')], ...change });
      await expect(write, JSON.stringify(change)).rejects.toMatchObject({ syscall, code });
    }
    await expect(io.writeFile({ ...names, target: 'a\0b', parts: [] })).rejects.toThrow(RangeError);
    expect(fs.readdirSync(path.join(root, 'tmp'))).toEqual(['there']);
    expect(fs.readdirSync(outside)).toEqual([]);
  });

  it('writes what a part was when it was given, whatever becomes of its ArrayBuffer', async () => {
    const root = withDirectories();
    const part = partOf(300_000, 1, false);
    const writing = threadsOn(root).writeFile({ ...names, parts: [part] });
    structuredClone(part.buffer, { transfer: [part.buffer as ArrayBuffer] });
    await writing;
    expect(Buffer.compare(fs.readFileSync(path.join(root, 'to/file')), someBytes(300_000, 1))).toBe(0);
  });
});
