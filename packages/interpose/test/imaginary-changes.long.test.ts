import fs from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { bucket, KEYS } from './bucket.js';
import { describeShim, run, temporaryDirectory } from './helpers.js';

/**
 * Calls functions of the C library, and prints a line for each: the expression, and the name of the error, or
 * what came of it.
 */
const CALLS = `
import ctypes, errno, os, sys
root, elsewhere = sys.argv[1:3]
c = ctypes.CDLL(None, use_errno=True)
def said(expression):
    ctypes.set_errno(0)
    try: result = eval(expression)
    except OSError as error: return errno.errorcode[error.errno]
    except Exception as error: return repr(error)
    return errno.errorcode[ctypes.get_errno()] if result == -1 else str(result)
r, e = root.encode(), elsewhere.encode()
directory = os.open(root + '/a', os.O_RDONLY | os.O_DIRECTORY)
outside = os.open(elsewhere, os.O_RDONLY | os.O_DIRECTORY)
file = ctypes.create_string_buffer(r + b'/top.txt')
template = lambda end=b'': ctypes.create_string_buffer(r + b'/XXXXXX' + end)
times = (ctypes.c_long * 4)()
def text(function):
    function.restype = ctypes.c_char_p
    return function()
for line in sys.stdin.read().splitlines():
    print(line, '->', said(line), flush=True)
`;

/** Calls by what programs are told below a root of a bucket: what is so where nothing can be written. */
const CHANGES = {
  EROFS: [
    ...['os.mkdir(root + "/new")', 'os.mkdir("new", dir_fd=directory)', 'os.mkdir(root + "/new/")'],
    ...['os.makedirs(root + "/a/new/er")', 'os.mkfifo(root + "/new")', 'os.mkfifo("new", dir_fd=directory)'],
    ...['os.mknod(root + "/new")', 'os.mknod("new", dir_fd=directory)'],
    ...['os.symlink("/", root + "/new")', 'os.symlink("/", "new", dir_fd=directory)'],
    ...['c.__xmknod(0, r + b"/new", 0o100600, ctypes.byref(ctypes.c_ulong(0)))'],
    ...['c.__xmknodat(0, directory, b"new", 0o100600, ctypes.byref(ctypes.c_ulong(0)))'],
    ...['open(root + "/new", "w")', 'os.open("new", os.O_CREAT | os.O_RDWR, dir_fd=directory)'],
    ...['os.open(root + "/a", os.O_TMPFILE | os.O_RDWR)'],
    ...['c.mkstemp(template())', 'c.mkstemp64(template())', 'c.mkostemp(template(), 0)'],
    ...['c.mkostemp64(template(), 0)', 'c.mkstemps(template(b".x"), 2)', 'c.mkstemps64(template(b".x"), 2)'],
    ...['c.mkostemps(template(b".x"), 2, 0)', 'c.mkostemps64(template(b".x"), 2, 0)'],
    ...['os.link(root + "/top.txt", root + "/new")', 'os.link(elsewhere + "/mine", root + "/new")'],
    ...['os.link("x.jpg", "new", src_dir_fd=directory, dst_dir_fd=directory)'],
    ...['os.unlink(root + "/top.txt")', 'os.unlink("x.jpg", dir_fd=directory)', 'os.unlink(root + "/a")'],
    ...['os.rmdir(root + "/a")', 'os.rmdir("deep", dir_fd=directory)', 'os.rmdir(root + "/top.txt")'],
    ...['os.unlink(root + "/nothing")', 'os.unlink(root + "/top.txt/")'],
    ...['os.rename(root + "/nothing", root + "/new")', 'os.unlink("nothing", dir_fd=directory)'],
    ...['c.remove(r + b"/top.txt")', 'c.remove(r + b"/a")'],
    ...['os.rename(root + "/top.txt", root + "/new")', 'os.rename(root + "/top.txt", root + "/a/x.jpg")'],
    ...['os.rename("x.jpg", "new", src_dir_fd=directory, dst_dir_fd=directory)'],
    ...['c.renameat2(directory, b"x.jpg", directory, b"new", 1)'],
    ...[
      'os.chmod(root + "/top.txt", 0o600)',
      'os.chmod("x.jpg", 0o600, dir_fd=directory)',
      'os.chmod(root, 0)',
    ],
    ...['os.chmod(directory, 0)', 'c.lchmod(file, 0)', 'c.fchmodat(directory, b"deep", 0, 0)'],
    ...[
      'os.chown(root + "/a", 1, 1)',
      'os.chown("x.jpg", 1, 1, dir_fd=directory)',
      'os.lchown(root + "/a", 1, 1)',
    ],
    ...['os.chown(directory, 1, 1)', 'c.fchownat(directory, b"", 1, 1, 0x1000)'],
    ...['os.utime(root + "/top.txt")', 'os.utime(root + "/a")', 'os.utime("x.jpg", dir_fd=directory)'],
    ...[
      'os.utime(root + "/a", follow_symlinks=False)',
      'os.utime(directory)',
      'c.utimensat(directory, None, None, 0)',
    ],
    ...[
      'c.utime(file, None)',
      'c.utimes(file, None)',
      'c.lutimes(file, None)',
      'c.futimes(directory, times)',
    ],
    ...['c.futimesat(directory, b"x.jpg", times)', 'os.truncate(root + "/top.txt", 0)'],
    ...['os.setxattr(root + "/top.txt", "user.x", b"")', 'os.setxattr(directory, "user.x", b"")'],
    ...[
      'os.setxattr(root + "/a", "user.x", b"", follow_symlinks=False)',
      'os.removexattr(root + "/a", "user.x")',
    ],
    ...[
      'os.removexattr(root + "/a", "user.x", follow_symlinks=False)',
      'os.removexattr(directory, "user.x")',
    ],
  ],
  EBUSY: ['os.rmdir(root)', 'c.remove(r)', 'os.rename(root + "/a/.", root + "/new")'],
  EISDIR: ['os.unlink(root)', 'os.unlink(".", dir_fd=directory)', 'open(root + "/new/", "w")'],
  EINVAL: ['os.rmdir(root + "/a/.")', 'os.rmdir(".", dir_fd=directory)', 'c.getcwd(file, 0) or -1'],
  ENOTEMPTY: ['os.rmdir(root + "/a/..")', 'os.rmdir("..", dir_fd=directory)'],
  EEXIST: [
    ...[
      'os.mkdir(root)',
      'os.mkdir(root + "/a")',
      'os.mkdir(root + "/top.txt")',
      'os.symlink("/", root + "/top.txt")',
    ],
    ...[
      'os.link(elsewhere + "/mine", root + "/top.txt")',
      'open(root + "/a", "x")',
      'open(root + "/top.txt", "x")',
    ],
  ],
  EXDEV: [
    ...['os.rename(root + "/top.txt", elsewhere + "/new")', 'os.rename(elsewhere + "/mine", root + "/new")'],
    ...['os.rename("mine", "new", src_dir_fd=outside, dst_dir_fd=directory)'],
    ...['os.link(root + "/top.txt", elsewhere + "/new")'],
  ],
  ENOENT: [
    ...[
      'os.mkdir(root + "/nothing/new")',
      'os.symlink("/", root + "/nothing/new")',
      'open(root + "/nothing/new", "w")',
    ],
    ...['os.chmod(root + "/nothing", 0)'],
    ...[
      'os.listxattr(root + "/nothing")',
      'os.getxattr(root + "/nothing", "user.x")',
      'os.truncate(root + "/nothing", 0)',
    ],
    ...[
      'open(root + "/nothing/../top.txt")',
      'os.stat(root + "/nothing/..")',
      'os.mkdir(root + "/nothing/../new")',
    ],
    ...['os.stat(root + "/nothing/.")', 'os.listdir(root + "/a/nothing/../")', 'open(root + "/nothing")'],
    ...[
      'os.path.realpath(root + "/nothing/../a", strict=True)',
      'os.access(root + "/nothing/../a", 0) or os.stat(root + "/nothing/")',
    ],
  ],
  ENOTDIR: [
    ...[
      'open(root + "/top.txt/")',
      'os.stat(root + "/top.txt/")',
      'os.lstat(root + "/top.txt/.")',
      'open(root + "/top.txt/x")',
    ],
    ...[
      'open(root + "/top.txt/../top.txt")',
      'os.stat(root + "/top.txt/x/y")',
      'os.readlink(root + "/top.txt/")',
    ],
    ...[
      'os.stat("x.jpg/", dir_fd=directory)',
      'os.listdir(root + "/top.txt/")',
      'os.mkdir(root + "/top.txt/new")',
    ],
    ...['os.truncate(root + "/top.txt/", 0)', 'os.listxattr(root + "/top.txt/")'],
  ],
  ENOTSUP: [
    ...['os.getxattr(root + "/top.txt", "user.x")', 'os.getxattr(root + "/a", "system.posix_acl_access")'],
    ...['os.getxattr(root + "/top.txt", "security.selinux", follow_symlinks=False)'],
  ],
  '[]': [
    'os.listxattr(root + "/top.txt")',
    'os.listxattr(root)',
    'os.listxattr(root + "/a", follow_symlinks=False)',
  ],
  None: ['c.mkdtemp(template()) or None', 'os.chdir(root + "/a")'],
  True: ['os.getcwd() == root + "/a"', 'text(c.get_current_dir_name) == r + b"/a"'],
  ERANGE: ['c.getcwd(file, len(root)) or -1'],
};

describeShim('below a root that is not there', () => {
  it('[I7] nothing is made, changed or removed, and programs are told what is so of a file system for reading', async () => {
    const { interposer, root } = await bucket();
    const elsewhere = temporaryDirectory();
    fs.writeFileSync(path.join(elsewhere, 'mine'), 'mine');
    const tree = path.join(interposer.environment()['TIERED_INTERPOSE'] ?? '', 'tree');
    await run(interposer, 'ls', ['-R', root]);
    const before = [fs.readdirSync(tree, { recursive: true }).sort(), fs.statSync(path.join(tree, 'a')).mode];
    const said = await run(interposer, 'python3', ['-c', CALLS, root, elsewhere], {
      input: Object.values(CHANGES).flat().join('\n'),
    });
    const right = Object.entries(CHANGES).flatMap(([what, calls]) =>
      calls.map((call) => `${call} -> ${what}`),
    );
    expect(said.trimEnd().split('\n')).toEqual(right);
    expect([
      fs.readdirSync(tree, { recursive: true }).sort(),
      fs.statSync(path.join(tree, 'a')).mode,
    ]).toEqual(before);
    expect([fs.existsSync(root), fs.readdirSync(elsewhere)]).toEqual([false, ['mine']]);
  });

  it('[I7] programs cannot empty it, and copy all of it with its attributes', async () => {
    const { interposer, root, bytesOf } = await bucket();
    const to = temporaryDirectory();
    const script = `
refused() { "$@" 2>/dev/null && echo "$*" worked; }
refused rm -rf "$1"
refused mkdir -p "$1/a/new/er"
refused sh -c 'cd "$1" && mkdir -p new/er' sh "$1"
refused mv "$1/top.txt" "$1/a"
refused find "$1" -name '*.jpg' -delete
refused touch "$1/top.txt"
set -e
mkdir -p "$1"
ls -l "$1/a" >"$2/listed"
cp -a "$1" "$2/cp"
python3 -c 'import shutil, sys; shutil.copytree(sys.argv[1], sys.argv[2])' "$1" "$2/copytree"
`;
    expect(await run(interposer, 'sh', ['-c', script, 'sh', root, to])).toBe('');
    for (const key of KEYS)
      for (const copied of ['cp', 'copytree'])
        expect(Buffer.compare(fs.readFileSync(path.join(to, copied, key)), bytesOf(key))).toBe(0);
    expect([
      fs.readFileSync(path.join(to, 'listed'), 'utf8').split('\n').length,
      fs.existsSync(root),
    ]).toEqual([5, false]);
  });
});
