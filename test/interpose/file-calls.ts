import fc from 'fast-check';
import fs from 'node:fs';

/** What `programs/file-calls.py` is asked: a call, and its arguments. Or what the daemon does meanwhile. */
export type Line = readonly [string, ...unknown[]];

const { O_RDONLY, O_RDWR, O_WRONLY, O_CREAT, O_EXCL, O_TRUNC, O_APPEND, O_NOFOLLOW, O_DIRECTORY } =
  fs.constants;
/** Node knows no names for these. */
const O_PATH = 0o10000000;
const O_CLOEXEC = 0o2000000;
const SEEK = [0, 1, 2];

const file = fc.constantFrom('/a.bin', '/d/b.bin', '/d/e/c.txt', '/empty');
/** Below the root, in many spellings; those with a colon are relative. */
const name = fc.oneof(
  { weight: 3, arbitrary: file },
  file.map((one) => one.replaceAll('/', '//')),
  file.map((one) => one.replace(/\/(?=[^/]*$)/, '/./')),
  fc.constantFrom(
    '',
    '/',
    '/d',
    '/d/',
    '/d/e',
    '/d/..',
    '/nothing',
    '/d/nothing',
    '/nothing/more',
    '/d/../a.bin',
  ),
  fc.constantFrom('/d/e/../b.bin', '/d/e/../../empty', '/d/../d/e/./c.txt', '/new', '/d/new'),
  fc.constantFrom(':a.bin', ':d/b.bin', ':b.bin', ':e/c.txt', ':c.txt', ':../a.bin', ':.', ':..', ':new'),
);
const slot = fc.nat(3);
const where = fc.option(slot, { freq: 6 });
const count = fc.constantFrom(0, 1, 100, 4096, 6000, 100_000);
const offset = fc.constantFrom(0, 1, 99, 4095, 4999, 5000, 69_999, 80_000);
const flags = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(O_RDONLY, O_RDONLY | O_CLOEXEC) },
  fc.constantFrom(O_RDONLY | O_NOFOLLOW, O_RDONLY | O_DIRECTORY, O_PATH, O_PATH | O_NOFOLLOW),
);
const call = (what: string, ...args: fc.Arbitrary<unknown>[]): fc.Arbitrary<Line> =>
  fc.tuple(...args).map((all) => [what, ...all] as const);
const opened = call('open', slot, name, flags, where);
const read = fc.oneof(
  call('read', slot, count),
  call('pread', slot, count, offset),
  call('readv', slot, count),
  call('lseek', slot, offset, fc.constantFrom(...SEEK)),
  call('fstat', slot),
  call('mmap', slot),
  call('sendfile', slot, count),
);

/** What reads, and what comes and goes meanwhile. */
export const READING: readonly fc.Arbitrary<Line>[] = [
  opened,
  call('open', slot, file, fc.constant(O_RDONLY), fc.constant(null)),
  read,
  read,
  fc.oneof(call('close', slot), call('dup', slot, slot), call('dup2', slot, slot)),
  fc.oneof(call('fchdir', slot), call('flistdir', slot), call('chdir', name)),
  call('fopen', name, fc.constantFrom('r', 'rb', 're'), offset, count),
  call('stat', name, fc.boolean(), where),
  call('access', name, fc.constantFrom(0, 1, 2, 4, 6), where),
  fc.oneof(call('readlink', name), call('realpath', file), call('listdir', name), call('scandir', name)),
  read.map((one) => ['fork', one] as const),
  fc.oneof(call('place', file), call('evict', file), call('settle')),
];

const WRITING = [
  ...[O_RDWR, O_WRONLY, O_WRONLY | O_APPEND, O_WRONLY | O_TRUNC, O_RDWR | O_CREAT],
  ...[O_WRONLY | O_CREAT | O_TRUNC, O_WRONLY | O_CREAT | O_EXCL, O_RDONLY | O_CREAT, O_RDONLY | O_TRUNC],
];
const MODES = ['r+', 'w', 'a', 'w+', 'a+', 'wx'];
const writing = fc.constantFrom(...WRITING);
const text = fc.constantFrom('', 'x', 'some words');
const time = fc.constantFrom(0, 1_000_000_007);

/** What changes files, of these names, or tries to. */
const changing = (names: fc.Arbitrary<string>): readonly fc.Arbitrary<Line>[] => [
  call('open', slot, name, writing, where),
  fc.oneof(call('write', slot, text), call('pwrite', slot, text, offset), call('ftruncate', slot, count)),
  call('fopen', names, fc.constantFrom(...MODES), offset, count),
  fc.oneof(call('unlink', names), call('rename', names, names), call('truncate', names, count)),
  fc.oneof(call('link', names, names), call('symlink', file, names), call('mkdir', names)),
  fc.oneof(call('chmod', names, fc.constantFrom(0o600, 0o644)), call('utime', names, time)),
];

/** Also what was not there, and directories, of which nobody goes on to what is above. */
const places = fc.oneof(
  { weight: 2, arbitrary: file },
  fc.constantFrom(
    '/new',
    '/d/new',
    '/d',
    '/d/e',
    '//a.bin',
    '/d/../a.bin',
    '/d/e/../b.bin',
    ':a.bin',
    ':c.txt',
  ),
);
export const CHANGING = [...changing(places), call('rmdir', places)];

const BY_NAME = ['unlink', 'rename', 'truncate', 'link', 'symlink', 'mkdir', 'chmod', 'utime', 'rmdir'];

/**
 * Whether a call may change a file that is open already. What is open as a copy stays the copy, so programs
 * close what they have open before.
 */
export function mayChangeOpened([what, , by, given]: Line): boolean {
  if (what === 'open') return (Number(given) & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) !== 0;
  return what === 'fopen' ? !String(by).startsWith('r') || by === 'r+' : BY_NAME.includes(what);
}

/** Closes all that a program has open. */
export const CLOSE_ALL: readonly Line[] = [0, 1, 2, 3].map((each) => ['close', each]);

/** Every way to name something below a root that is mounted for reading, and the root itself. */
const EVERY_NAME: readonly string[] = [
  ...['/a.bin', '/a.bin/', '/a.bin/.', '/a.bin/..', '/a.bin/more', '/a.bin/more/', '/a.bin/more/more'],
  ...[
    '/d',
    '/d/',
    '/d//',
    '/d/.',
    '/d/./',
    '/d/..',
    '/d/../',
    '/d/b.bin',
    '/d/e/..',
    '/d/../a.bin',
    '/empty',
  ],
  ...['/new', '/new/', '/new/.', '/new/..', '/new/more', '/new/more/', '/new/../a.bin', '/d/new', '/d/new/'],
  ...['', '/', '/.', '/..', '/../', '/../.', '^/root', '^/root/', '^/root/.'],
  ...[':a.bin', ':d', ':d/', ':new', ':new/', ':.', ':..', ':./', ':nothing/more'],
];
/** What is on another file system, where nothing is changed. */
const OUTSIDE = ['^/outside', '^/missing', '^/directory', '^/missing/more', '^/outside/more'];
/** Where the mount is. Linux lets it be renamed to itself, and the name of a temporary file be beside it. */
const ROOT = ['^/root', '^/root/'];
const pairs = [...EVERY_NAME, ...OUTSIDE]
  .flatMap((from) => [...EVERY_NAME, ...OUTSIDE].map((to) => [from, to] as const))
  .filter(([from, to]) => ![OUTSIDE, ROOT].some((names) => names.includes(from) && names.includes(to)));

/** Every call that changes something, with every name. */
export const EVERY_REFUSAL: readonly Line[] = [
  ...EVERY_NAME.flatMap((one): Line[] => [
    ...['unlink', 'rmdir', 'remove', 'mkdir', 'mkfifo', 'mknod'].map((what): Line => [what, one]),
    ...WRITING.map((flag): Line => ['open', 0, one, flag, null]),
    ...MODES.map((mode): Line => ['fopen', one, mode, 0, 1]),
    ...[
      ['symlink', '/a.bin', one] as const,
      ['truncate', one, 0] as const,
      ['chmod', one, 0o600] as const,
      ['utime', one, 0] as const,
      ['setxattr', one] as const,
      ...(ROOT.includes(one) ? [] : [['mkstemp', one] as const]),
    ],
  ]),
  ...pairs.flatMap(([from, to]): Line[] => [
    ['rename', from, to],
    ['link', from, to],
  ]),
];

export const REFUSED = changing(fc.oneof(file, fc.constantFrom(...EVERY_NAME)));

/** The path of the working directory, and what comes of it. */
export const IN_DIRECTORIES: readonly fc.Arbitrary<Line>[] = [
  call('getcwd'),
  call('realpath', fc.constantFrom(':a.bin', ':.', ':e/..')),
];
