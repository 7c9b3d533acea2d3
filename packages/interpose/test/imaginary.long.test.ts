import type { Interposer } from '@tiered/interpose';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { bucket, KEYS, LEAVES_ALL } from './bucket.js';
import { describeShim, opensOf, run, temporaryDirectory } from './helpers.js';

const python = (interposer: Interposer, script: string, ...args: string[]) =>
  run(interposer, 'python3', ['-c', script, ...args]);

describeShim('a root that is not there', () => {
  it('[I7] gives programs the bytes of objects, and waits for those that have no copy', async () => {
    const { interposer, root, bytesOf } = await bucket();
    const files = KEYS.map((key) => path.join(root, key));
    const first = await opensOf(interposer, () => run(interposer, 'cat', files));
    const bytes = Buffer.concat(KEYS.map(bytesOf));
    expect(Buffer.compare(Buffer.from(first.result, 'latin1'), bytes)).toBe(0);
    expect([first.source, first.copies]).toEqual([5, 0]);
    const second = await opensOf(interposer, () => run(interposer, 'cat', files));
    expect(Buffer.compare(Buffer.from(second.result, 'latin1'), bytes)).toBe(0);
    expect([second.source, second.copies]).toEqual([0, 5]);
    expect(interposer.stats().hierarchy.source.readBytes).toBe(bytes.byteLength);
    expect(fs.existsSync(root)).toBe(false);
  });

  it('[I7] serves what no tier takes', async () => {
    const { interposer, root, bytesOf } = await bucket({ policy: LEAVES_ALL, spool: 6000 });
    const files = KEYS.map((key) => path.join(root, key));
    for (let epoch = 0; epoch < 2; epoch++) {
      const out = await run(interposer, 'cat', files);
      expect(Buffer.compare(Buffer.from(out, 'latin1'), Buffer.concat(KEYS.map(bytesOf)))).toBe(0);
    }
    const spool = path.join(interposer.environment()['TIERED_INTERPOSE'] ?? '', 'spool');
    await interposer.idle();
    const left = fs
      .readdirSync(spool, { recursive: true, withFileTypes: true })
      .filter((one) => one.isFile());
    expect(left.length).toBeLessThanOrEqual(1);
  });

  it('[I7] lists and describes them', async () => {
    const { interposer, root } = await bucket();
    const listed = await run(interposer, 'find', [root, '-type', 'f', '-printf', '%P %s\\n']);
    const names = Buffer.from(listed, 'latin1').toString().trimEnd().split('\n').sort();
    expect(names).toEqual(KEYS.map((key, i) => `${key} ${5000 + i}`).sort());
    const walked = await python(
      interposer,
      `
import os, sys, stat, json
root = sys.argv[1]
found = {}
for directory, names, files in os.walk(root):
    for name in files:
        path = os.path.join(directory, name)
        s = os.stat(path)
        with open(path, 'rb') as f:
            t = os.fstat(f.fileno())
        assert (s.st_ino, s.st_dev, s.st_size, s.st_mode, s.st_mtime) == (t.st_ino, t.st_dev, t.st_size, t.st_mode, t.st_mtime), (s, t)
        assert os.lstat(path).st_ino == s.st_ino and not os.path.islink(path)
        assert os.access(path, os.R_OK) and not os.access(path, os.W_OK)
        found[os.path.relpath(path, root)] = s.st_size
for entry in os.scandir(root):
    assert entry.is_dir(follow_symlinks=False) != entry.is_file(follow_symlinks=False), entry
    assert entry.is_dir() == os.path.isdir(entry.path)
assert sorted(os.listdir(root)) == ['a', 'b', 'top.txt'], os.listdir(root)
assert os.path.realpath(root + '/a/../b/z.bin') == root + '/b/z.bin', os.path.realpath(root + '/a/../b/z.bin')
assert not os.path.exists(root + '/nothing') and not os.path.exists(root + '/a/nothing')
os.chdir(root + '/a')
assert len(open('x.jpg', 'rb').read()) == 5000
assert len(open('deep/../../b/z.bin', 'rb').read()) == 5003
d = os.open(root + '/a/deep', os.O_RDONLY | os.O_DIRECTORY)
assert os.listdir(d) == ['er']
f = os.open('er/y.jpg', os.O_RDONLY, dir_fd=d)
assert len(os.read(f, 10000)) == 5002
print(json.dumps(found, sort_keys=True))
`,
      root,
    );
    expect(JSON.parse(walked)).toEqual(Object.fromEntries(KEYS.map((key, i) => [key, 5000 + i])));
  });

  it('[I7] finds them by paths with dots and empty names in front of the root, as the kernel would', async () => {
    const { interposer, root, bytesOf } = await bucket();
    const above = path.dirname(path.dirname(root));
    // `..` behind a link is above what the link leads to.
    fs.mkdirSync(path.join(above, 'elsewhere/deep'), { recursive: true });
    fs.symlinkSync(path.join(above, 'elsewhere/deep'), path.join(above, 'link'));
    const found = await python(
      interposer,
      `
import hashlib, os, sys
above, root = sys.argv[1], os.path.relpath(sys.argv[2], sys.argv[1])
def read(path, **at):
    try: f = os.open(path, os.O_RDONLY, **at)
    except OSError: return 'none'
    with os.fdopen(f, 'rb') as opened: return hashlib.sha1(opened.read()).hexdigest()
os.chdir(above)
here = os.path.basename(above)
for path in ['./' + root, '../' + here + '/' + root, above + '//' + root, above + '/./elsewhere/../' + root, above + '/link/../../' + root,
             'elsewhere/deep/../../' + root, '//' + above + '/' + root + '/../there', '/../..' + above + '/' + root,
             above + '/link/../' + root, above + '/nothing/../' + root]:
    print(read(path + '/b/z.bin'), os.path.isdir(path), sorted(os.listdir(path)) if os.path.isdir(path) else [])
directory = os.open('elsewhere', os.O_RDONLY)
print(read('../' + root + '/b/z.bin', dir_fd=directory), read(root + '/b/z.bin', dir_fd=directory))
os.chdir('elsewhere/deep')
print(read('../../' + root + '/b/z.bin'), read('../' + root + '/b/z.bin'))
`,
      above,
      root,
    );
    const hash = createHash('sha1').update(bytesOf('b/z.bin')).digest('hex');
    const right = `${hash} True ['a', 'b', 'top.txt']\n`;
    const wrong = 'none False []\n';
    expect(found).toBe(`${right.repeat(8)}${wrong.repeat(2)}${`${hash} none\n`.repeat(2)}`);
  });

  it('refuses to write, and says what is not there as the kernel would', async () => {
    const { interposer, root } = await bucket();
    const said = await python(
      interposer,
      `
import os, sys, errno
root = sys.argv[1]
def error(work):
    try: work()
    except OSError as e: return errno.errorcode[e.errno]
    return 'none'
print(' '.join([
  error(lambda: open(root + '/top.txt', 'w')), error(lambda: open(root + '/new', 'w')), error(lambda: open(root + '/top.txt', 'r+')),
  error(lambda: open(root + '/new')), error(lambda: os.listdir(root + '/top.txt')), error(lambda: os.listdir(root + '/c')),
  error(lambda: os.open(root + '/top.txt', os.O_DIRECTORY)), error(lambda: os.mkdir(root + '/new')), error(lambda: os.readlink(root + '/top.txt')),
  error(lambda: open(root + '/a')), error(lambda: os.chdir(root + '/top.txt')),
]))
`,
      root,
    );
    expect(said.trim()).toBe('EROFS EROFS EROFS ENOENT ENOTDIR ENOENT ENOTDIR EROFS EINVAL EISDIR ENOTDIR');
  });

  it.each([
    ['of which tiers have copies', undefined],
    ['which no tier takes', LEAVES_ALL],
  ])('is copied and packed by programs as a directory is, with objects %s', async (_, policy) => {
    const { interposer, root, bytesOf } = await bucket({ ...(policy && { policy }) });
    const to = temporaryDirectory();
    await run(interposer, 'cp', ['-r', root, path.join(to, 'copied')]);
    await run(interposer, 'sh', ['-c', 'tar -cC "$1" . | tar -xC "$2"', 'sh', root, to]);
    for (const key of KEYS)
      for (const place of ['copied', '.'])
        expect(Buffer.compare(fs.readFileSync(path.join(to, place, key)), bytesOf(key))).toBe(0);
  });

  it('[I7] says the size that an object has by now', async () => {
    const { interposer, root, source } = await bucket({ policy: LEAVES_ALL });
    const file = path.join(root, 'top.txt');
    const sizeOf = async () =>
      Number(await python(interposer, 'import os, sys; print(os.stat(sys.argv[1]).st_size)', file));
    expect(await sizeOf()).toBe(5004);
    await source.write('top.txt', Buffer.alloc(77, 'x'), { size: 77 });
    await interposer.rescan();
    expect(await sizeOf()).toBe(77);
    // What is found out when it is read is said too.
    await source.write('top.txt', Buffer.alloc(5, 'y'), { size: 5 });
    const read = `
import os, sys
for attempt in range(2):
    try:
        with open(sys.argv[1]) as f: print(f.read(), os.fstat(f.fileno()).st_size)
        break
    except OSError: pass
`;
    expect(await python(interposer, read, file)).toBe('yyyyy 5\n');
    expect(await sizeOf()).toBe(5);
  });

  it('tells programs that an object cannot be read, and nobody waits for a daemon that is gone', async () => {
    const { interposer, root, source } = await bucket();
    await source.delete('top.txt', {});
    const read = `
import sys, errno
try: open(sys.argv[1]).read()
except OSError as e: print(errno.errorcode[e.errno])
`;
    expect((await python(interposer, read, path.join(root, 'top.txt'))).trim()).toBe('ENOENT');
    const env = interposer.environment();
    await interposer.close();
    const gone = await run({ environment: () => env } as never, 'python3', [
      '-c',
      read,
      path.join(root, 'b/z.bin'),
    ]);
    expect(gone.trim()).toBe('ENOENT');
  });
});
