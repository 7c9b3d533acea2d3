import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { someBytes } from '@tiered/core/testing';
import fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import {
  describeNative,
  explained,
  openFiles,
  outcomesOf,
  readOf,
  targetOf,
  temporaryDirectory,
  threadsOn,
  versionOf,
} from './helpers.js';

/** What a test finds under a key. */
const NOT_FILES = { directory: 'NOT_A_FILE', fifo: 'NOT_A_FILE', socket: 'NOT_A_FILE', missing: 'ENOENT' };

/** Sizes of files: around blocks, and around what a thread reads at a time. */
const SIZES = [0, 2, 108, 16_384, 1_310_720, 0, 7, 262_144, 262_145];

/** A directory with one of each kind. */
async function withKinds(): Promise<string> {
  const root = temporaryDirectory();
  fs.mkdirSync(path.join(root, 'directory'));
  execFileSync('mkfifo', [path.join(root, 'fifo')]);
  const server = net.createServer().listen(path.join(root, 'socket'));
  onTestFinished(() => void server.close());
  fs.writeFileSync(path.join(root, 'file'), 'content');
  return root;
}

/** Reads of files of random sizes: file, offset, room, kind of memory, version (none, right, wrong). */
const READS = fc.array(
  fc.record({
    file: fc.nat(9),
    offset: fc.oneof(fc.nat(100), fc.nat(700_000)),
    length: fc.oneof(fc.nat(100), fc.nat(700_000)),
    isShared: fc.boolean(),
    version: fc.constantFrom('none', 'right', 'wrong'),
  }),
  { minLength: 1, maxLength: 40 },
);

describeNative('readMany', () => {
  it.each([
    [false, 1],
    [false, 7],
    [true, 3],
  ])('reads what fs reads (mayHang %s, %d threads)', async (mayHang, threads) => {
    const root = temporaryDirectory();
    const contents = SIZES.map((size, i) => someBytes(size, i));
    for (const [i, bytes] of contents.entries()) fs.writeFileSync(path.join(root, `${i}`), bytes);
    const io = threadsOn(root, { threads, mayHang });
    const versions = contents.map((_, i) => versionOf(path.join(root, `${i}`)));
    await fc.assert(
      fc.asyncProperty(READS, fc.boolean(), async (drawn, isByFile) => {
        // Reads of one file that follow each other share its descriptor.
        const reads = isByFile ? drawn.toSorted((a, b) => a.file - b.file) : drawn;
        const requests = reads.map(({ file, offset, length, isShared, version }) => ({
          key: `${file}`,
          offset,
          target: targetOf(length + 2, isShared).subarray(1, length + 1),
          version: { none: undefined, right: versions[file], wrong: '0-0-0' }[version],
        }));
        const expected = reads.map(({ file, offset, length, version }) => {
          const bytes = contents[file]?.subarray(offset, offset + length);
          if (bytes === undefined) return 'ENOENT';
          return version === 'wrong' ? 'OTHER_VERSION' : bytes.byteLength;
        });
        expect(await outcomesOf(io, requests)).toEqual(expected);
        for (const [i, { target }] of requests.entries()) {
          const count = expected[i];
          if (typeof count !== 'number') continue;
          const { file = 0, offset = 0 } = reads[i] ?? {};
          const wanted = contents[file]?.subarray(offset, offset + count) ?? new Uint8Array();
          expect(Buffer.compare(target.subarray(0, count), wanted)).toBe(0);
          // And nothing beside it.
          const around = new Uint8Array(target.buffer);
          expect([around[0], around.at(-1)]).toEqual([0, 0]);
        }
      }),
      { numRuns: 60 },
    );
    expect(io.counts.items).toBe(0);
    expect(openFiles().filter((name) => name.startsWith(`${root}/`))).toEqual([]);
  });

  it.each([
    [false, true],
    [true, true],
    [false, false],
  ])('puts pieces one behind the other (mayHang %s, shared %s)', async (mayHang, isShared) => {
    const root = temporaryDirectory();
    const bytes = someBytes(400_000, 1);
    fs.writeFileSync(path.join(root, 'file'), bytes);
    const io = threadsOn(root, { threads: 3, mayHang });
    const piece = fc.tuple(fc.oneof(fc.nat(1000), fc.nat(410_000)), fc.oneof(fc.nat(50), fc.nat(300_000)));
    const reads = fc.array(fc.record({ offset: fc.nat(500), pieces: fc.array(piece, { maxLength: 5 }) }), {
      minLength: 1,
      maxLength: 5,
    });
    await fc.assert(
      fc.asyncProperty(reads, async (drawn) => {
        const requests = drawn.map(({ offset, pieces }) => {
          const room = pieces.reduce((sum, [, length]) => sum + length, 0);
          const target = targetOf(room + 2, isShared).subarray(1, room + 1);
          return { key: 'file', offset, target, pieces: Float64Array.from(pieces.flat()) };
        });
        const outcomes = await outcomesOf(io, requests);
        for (const [i, { offset, pieces }] of drawn.entries()) {
          const parts: Uint8Array[] = [];
          for (const [from, length] of pieces) {
            const part = bytes.subarray(offset + from, offset + from + length);
            parts.push(part);
            if (part.byteLength < length) break;
          }
          const expected = Buffer.concat(parts);
          expect(outcomes[i]).toBe(expected.byteLength);
          const target = requests[i]?.target ?? new Uint8Array();
          expect(Buffer.compare(target.subarray(0, expected.byteLength), expected)).toBe(0);
          const around = new Uint8Array(target.buffer);
          expect([around[0], around.at(-1)]).toEqual([0, 0]);
        }
      }),
      { numRuns: 40 },
    );
  });

  it('says what is no file, and opens none for ever', async () => {
    const io = threadsOn(await withKinds());
    const keys = Object.keys(NOT_FILES);
    for (const length of [0, 16])
      expect(
        await outcomesOf(
          io,
          keys.map((key) => readOf(key, length)),
        ),
      ).toEqual(Object.values(NOT_FILES));
  });

  it('refuses keys that are no paths below the root, one by one', async () => {
    const root = await withKinds();
    const keys = ['', '/file', '..', '../x', 'directory/..', 'directory/../file', 'a\0b', 'file'];
    const outcomes = await outcomesOf(
      threadsOn(root),
      keys.map((key) => readOf(key)),
    );
    expect(outcomes).toEqual([...Array<string>(7).fill('INVALID_KEY'), 7]);
    // Dots are letters otherwise.
    fs.writeFileSync(path.join(root, '..a'), 'dots');
    expect(await outcomesOf(threadsOn(root), [readOf('..a'), readOf('./file')])).toEqual([4, 7]);
  });

  it('follows links inside the root, absolute ones too, and none that lead out', async () => {
    const parent = temporaryDirectory();
    const root = path.join(parent, 'root');
    for (const directory of ['root', 'root/deep', 'outside', 'root-not'])
      fs.mkdirSync(path.join(parent, directory));
    for (const file of ['root/file', 'outside/secret', 'root-not/secret'])
      fs.writeFileSync(path.join(parent, file), 'content');
    const links = {
      relative: 'file',
      'deep/up': '../file',
      absolute: path.join(root, 'file'),
      'absolute-directory': root,
      out: '../outside/secret',
      'out-absolute': path.join(parent, 'outside/secret'),
      'out-similar': path.join(parent, 'root-not/secret'),
      'out-directory': '../outside',
      circle: 'circle',
      'out-magic': '/proc/self/exe',
    };
    for (const [link, to] of Object.entries(links)) fs.symlinkSync(to, path.join(root, link));
    const keys = ['relative', 'deep/up', 'absolute', 'absolute-directory/file', 'out', 'out-absolute'];
    keys.push('out-similar', 'out-directory/secret', 'circle', 'out-magic');
    const requests = keys.map((key) => readOf(key));
    expect(await outcomesOf(threadsOn(root), requests)).toEqual([
      ...[7, 7, 7, 7],
      ...['OUTSIDE', 'OUTSIDE', 'OUTSIDE', 'OUTSIDE', 'ELOOP', 'OUTSIDE'],
    ]);
    for (const { target } of requests.slice(4)) expect(target.every((byte) => byte === 0)).toBe(true);
  });

  it('finds a directory that was made anew where the root was', async () => {
    const parent = temporaryDirectory();
    const root = path.join(parent, 'root');
    fs.mkdirSync(root);
    const io = threadsOn(root);
    fs.rmdirSync(root);
    expect(await outcomesOf(io, [readOf('file')])).toEqual(['ENOENT']);
    fs.mkdirSync(root);
    fs.writeFileSync(path.join(root, 'file'), 'new');
    expect(await outcomesOf(io, [readOf('file'), readOf('none')])).toEqual([3, 'ENOENT']);
  });

  it('tells a changed file from the one that was asked for', async () => {
    const root = await withKinds();
    const file = path.join(root, 'file');
    const version = versionOf(file);
    const io = threadsOn(root);
    const read = (wanted: string) => outcomesOf(io, [readOf('file', 16, { version: wanted })]);
    expect(await read(version)).toEqual([7]);
    for (const wrong of ['', '\0', 'x', '--', `${version}0`, version.toUpperCase(), `-${version}`])
      expect(await read(wrong)).toEqual([
        wrong === version.toUpperCase() && wrong === version ? 7 : 'OTHER_VERSION',
      ]);
    fs.writeFileSync(file, 'another');
    expect(await read(version)).toEqual(['OTHER_VERSION']);
    // Times before 1970, and beyond what 64 bits of nanoseconds hold.
    for (const seconds of [-1e9 - 0.5, 1e10]) {
      fs.utimesSync(file, seconds, seconds);
      expect(await read(versionOf(file))).toEqual([7]);
    }
  });

  it('tells of reads as they end, each once, and of all before it resolves', async () => {
    const root = await withKinds();
    const io = threadsOn(root, { threads: 3 });
    const requests = Array.from({ length: 500 }, (_, i) => readOf(i % 7 === 0 ? 'missing' : 'file'));
    const seen: number[] = [];
    const { outcomes } = await io.readMany(requests, {
      onRead: (indexes, soFar) => {
        expect(indexes.length).toBeGreaterThan(0);
        for (const index of indexes) expect(explained(soFar)[index]).toBe(index % 7 === 0 ? 'ENOENT' : 7);
        seen.push(...indexes);
      },
    });
    expect(seen.toSorted((a, b) => a - b)).toEqual(requests.map((_, i) => i));
    expect(explained(outcomes)).toEqual(requests.map((_, i) => (i % 7 === 0 ? 'ENOENT' : 7)));
  });

  it('rejects with what onRead throws, when it is over', async () => {
    const io = threadsOn(await withKinds());
    const onRead = () => {
      throw new Error('enough');
    };
    const read = io.readMany(
      Array.from({ length: 50 }, () => readOf('file')),
      { onRead },
    );
    await expect(read).rejects.toThrow('enough');
    expect(io.counts.items).toBe(0);
  });

  it('reads nothing for an empty batch, and refuses one that is too large', async () => {
    const io = threadsOn(await withKinds());
    expect(await io.readMany([])).toEqual({ outcomes: new Float64Array(0), busyMs: 0 });
    const many = (count: number) => Array.from({ length: count }, () => readOf('file', 0));
    await expect(io.readMany(many(65_537))).rejects.toThrow(RangeError);
    const large = io.readMany(many(65_536));
    await expect(io.readMany(many(1))).rejects.toMatchObject({ code: 'TIERED_UNAVAILABLE', retryable: true });
    expect((await large).outcomes.every((outcome) => outcome === 0)).toBe(true);
    expect(await outcomesOf(io, many(1))).toEqual([0]);
  });

  it('takes more threads, fewer, and ends them when they are idle', async () => {
    const root = await withKinds();
    const io = threadsOn(root, { threads: 1, idleMs: 1 });
    for (const threads of [1, 16, 2, 256, 1]) {
      io.threads = threads;
      const batch = Array.from({ length: 2000 }, () => readOf('file'));
      expect((await io.readMany(batch)).outcomes.every((outcome) => outcome === 7)).toBe(true);
      expect(io.counts.threads).toBeLessThanOrEqual(threads === 1 ? 256 : threads);
    }
    while (io.counts.threads > 0) await new Promise((resolve) => fs.stat(root, resolve));
    expect(await outcomesOf(io, [readOf('file')])).toEqual([7]);
  });
});

describeNative('a target in an ArrayBuffer', () => {
  it('that was transferred is not written, and says DETACHED', async () => {
    const root = await withKinds();
    const io = threadsOn(root);
    const [gone, stays] = [readOf('file', 7, { target: targetOf(7, false) }), readOf('file')];
    const reading = outcomesOf(io, [gone, stays]);
    const moved = new Uint8Array(
      structuredClone(gone.target.buffer, { transfer: [gone.target.buffer as ArrayBuffer] }),
    );
    expect(await reading).toEqual(['DETACHED', 7]);
    expect(moved).toEqual(new Uint8Array(7));
  });

  it('that became smaller is not written beyond its end', async () => {
    const root = await withKinds();
    const buffer = new (
      ArrayBuffer as unknown as new (n: number, o: object) => ArrayBuffer & { resize(n: number): void }
    )(8192, { maxByteLength: 16_384 });
    const target = new Uint8Array(buffer, 8000, 7);
    const reading = outcomesOf(threadsOn(root), [
      readOf('file', 7, { target }),
      readOf('file', 7, { target: new Uint8Array(buffer, 0, 7) }),
    ]);
    buffer.resize(4096);
    expect(await reading).toEqual(['DETACHED', 7]);
    expect(Buffer.from(buffer, 0, 7).toString()).toBe('content');
  });
});
