import fs from 'node:fs';
import path from 'node:path';
import { someBytes } from '@tiered/core/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { IoThreads } from '../src/index.js';
import { describeNative, targetOf, temporaryDirectory, threadsOn, versionOf } from './helpers.js';

const SIZE = 70_000;
const CONTENT = someBytes(SIZE, 1);

function withFile(): { root: string; file: string; io: IoThreads } {
  const root = temporaryDirectory();
  const file = path.join(root, 'file');
  fs.writeFileSync(file, CONTENT);
  return { root, file, io: threadsOn(root) };
}

function failure(code: string): Error {
  return expect.objectContaining({ name: 'NativeError', code, syscall: 'read' }) as Error;
}

type Read = (io: IoThreads, ...of: Parameters<IoThreads['readNow']>) => number | Promise<number>;

/** The ways to read a file that is opened for it, in the calling thread or another one. */
const WAYS: Readonly<Record<string, Read>> = {
  readNow: (io, ...of) => io.readNow(...of),
  readFile: (io, key, target, offset, version) => io.readFile(key, target, offset, { version }),
  'readFile into memory that stays': (io, key, target, offset, version) =>
    io.readFile(key, target, offset, { version, areFixed: true }),
};

describeNative('a file that is opened for one read', () => {
  describe.each(Object.entries(WAYS))('%s', (_, readBy) => {
    /** A rejection also where the call throws at once. */
    const read = async (...of: Parameters<Read>) => readBy(...of);

    it('gives what fs gives, for any range and version, into shared memory or not', async () => {
      const { file, io } = withFile();
      const versions = [undefined, versionOf(file)];
      await fc.assert(
        fc.asyncProperty(
          fc.nat(SIZE + 5000),
          fc.nat(SIZE),
          fc.boolean(),
          fc.constantFrom(...versions),
          async (offset, length, isShared, version) => {
            const target = targetOf(length, isShared);
            const wanted = CONTENT.subarray(offset, offset + length);
            expect(await read(io, 'file', target, offset, version)).toBe(wanted.byteLength);
            expect(Buffer.compare(target.subarray(0, wanted.byteLength), wanted)).toBe(0);
          },
        ),
        { numRuns: 200 },
      );
    });

    it('reads into the view that it is given, and no further', async () => {
      const { io } = withFile();
      const memory = new Uint8Array(30);
      expect(await read(io, 'file', memory.subarray(10, 20), 5)).toBe(10);
      expect(Buffer.compare(memory.subarray(10, 20), CONTENT.subarray(5, 15))).toBe(0);
      expect([...memory.subarray(0, 10), ...memory.subarray(20)]).toEqual(new Array(20).fill(0));
    });

    it('says what is wrong: no file, another version, a key or a link that leads out', async () => {
      const { root, io } = withFile();
      fs.mkdirSync(path.join(root, 'directory'));
      fs.symlinkSync('/etc/hostname', path.join(root, 'link'));
      const tried = (key: string, version?: string) => read(io, key, targetOf(10), 0, version);
      await expect(tried('none')).rejects.toEqual(failure('ENOENT'));
      await expect(tried('directory')).rejects.toEqual(failure('NOT_A_FILE'));
      for (const version of ['1-2-3', '', 'a\0b'])
        await expect(tried('file', version)).rejects.toEqual(failure('OTHER_VERSION'));
      await expect(tried('link')).rejects.toEqual(failure('OUTSIDE'));
      for (const key of ['', '..', '../file', '/etc/hostname', 'file\0'])
        await expect(tried(key), JSON.stringify(key)).rejects.toEqual(failure('INVALID_KEY'));
    });

    it('leaves nothing open, and has nothing to read with after close', async () => {
      const { file, io } = withFile();
      await read(io, 'file', targetOf(10), 0, versionOf(file));
      await expect(read(io, 'none', targetOf(10), 0)).rejects.toThrow();
      const open = fs.readdirSync('/proc/self/fd').map((fd) => {
        try {
          return fs.readlinkSync(`/proc/self/fd/${fd}`);
        } catch {
          return '';
        }
      });
      expect(open).not.toContain(file);
      await io.close();
      await expect(read(io, 'file', targetOf(10), 0)).rejects.toMatchObject({ code: 'TIERED_CLOSED' });
    });
  });
});

describeNative('readFile', () => {
  it('is aborted with the reason, before it begins and while it waits for a thread', async () => {
    const { io } = withFile();
    const gone = new Error('no more');
    const aborted = io.readFile('file', targetOf(10), 0, { signal: AbortSignal.abort(gone) });
    await expect(aborted).rejects.toBe(gone);
    const controller = new AbortController();
    const { signal } = controller;
    const reads = Array.from({ length: 200 }, () => io.readFile('file', targetOf(SIZE), 0, { signal }));
    controller.abort(gone);
    for (const result of await Promise.allSettled(reads))
      expect(result).toEqual(
        result.status === 'fulfilled' ? fulfilled(SIZE) : { status: 'rejected', reason: gone },
      );
    expect(io.counts.items).toBe(0);
  });
});

function fulfilled(value: number): PromiseFulfilledResult<number> {
  return { status: 'fulfilled', value };
}
