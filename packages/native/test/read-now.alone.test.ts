import fs from 'node:fs';
import path from 'node:path';
import { someBytes } from '@tiered/core/testing';
import fc from 'fast-check';
import { expect, it } from 'vitest';
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

describeNative('readNow', () => {
  it('gives what fs gives, for any range and version, into shared memory or not', () => {
    const { file, io } = withFile();
    const versions = [undefined, versionOf(file)];
    fc.assert(
      fc.property(
        fc.nat(SIZE + 5000),
        fc.nat(SIZE),
        fc.boolean(),
        fc.constantFrom(...versions),
        (offset, length, isShared, version) => {
          const target = targetOf(length, isShared);
          const wanted = CONTENT.subarray(offset, offset + length);
          expect(io.readNow('file', target, offset, version)).toBe(wanted.byteLength);
          expect(Buffer.compare(target.subarray(0, wanted.byteLength), wanted)).toBe(0);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('reads into the view that it is given, and no further', () => {
    const { io } = withFile();
    const memory = new Uint8Array(30);
    expect(io.readNow('file', memory.subarray(10, 20), 5)).toBe(10);
    expect(Buffer.compare(memory.subarray(10, 20), CONTENT.subarray(5, 15))).toBe(0);
    expect([...memory.subarray(0, 10), ...memory.subarray(20)]).toEqual(new Array(20).fill(0));
  });

  it('says what is wrong: no file, another version, a key or a link that leads out', () => {
    const { root, io } = withFile();
    fs.mkdirSync(path.join(root, 'directory'));
    fs.symlinkSync('/etc/hostname', path.join(root, 'link'));
    const read = (key: string, version?: string) => () => io.readNow(key, targetOf(10), 0, version);
    expect(read('none')).toThrow(failure('ENOENT'));
    expect(read('directory')).toThrow(failure('NOT_A_FILE'));
    for (const version of ['1-2-3', '', 'a\0b'])
      expect(read('file', version)).toThrow(failure('OTHER_VERSION'));
    expect(read('link')).toThrow(failure('OUTSIDE'));
    for (const key of ['', '..', '../file', '/etc/hostname', 'file\0'])
      expect(read(key), JSON.stringify(key)).toThrow(failure('INVALID_KEY'));
  });

  it('leaves nothing open, and has nothing to read with after close', async () => {
    const { file, io } = withFile();
    io.readNow('file', targetOf(10), 0, versionOf(file));
    expect(() => io.readNow('none', targetOf(10), 0)).toThrow();
    const open = fs.readdirSync('/proc/self/fd').map((fd) => {
      try {
        return fs.readlinkSync(`/proc/self/fd/${fd}`);
      } catch {
        return '';
      }
    });
    expect(open).not.toContain(file);
    await io.close();
    expect(() => io.readNow('file', targetOf(10), 0)).toThrow(
      expect.objectContaining({ code: 'TIERED_CLOSED' }),
    );
  });
});
