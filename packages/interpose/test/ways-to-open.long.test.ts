import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { type Dataset, describeShim, makeDataset, program, serve, temporaryDirectory } from './helpers.js';
import type { Interposer } from '@tiered/interpose';

/** A sanitizer takes more of a stack than there is. */
const HAS_SMALL_STACK = process.env['ASAN_OPTIONS'] === undefined;
const REDIRECTED = [
  ...[
    'open',
    'open64',
    'openat',
    'openat64',
    'directory',
    'relative',
    '__open_2',
    '__open64_2',
    '__openat_2',
  ],
  ...[
    '__openat64_2',
    'fopen',
    'fopen64',
    'freopen',
    'freopen64',
    'thread',
    'handler',
    'fork',
    'vfork',
    'O_NOFOLLOW',
  ],
  ...['closed descriptors', 'taken descriptors', 'dup', 'F_DUPFD', 'freopen NULL'],
  ...['freopen of a closed stream', '/dev/fd for reading', 'fopen of /dev/fd'],
  ...(HAS_SMALL_STACK ? ['small stack'] : []),
];
const LEFT_ALONE = [
  ...(HAS_SMALL_STACK ? ['small stack, O_RDWR'] : []),
  'O_RDWR',
  'O_CREAT',
  'O_PATH',
  'O_DIRECT',
  'O_NOATIME',
  'r+',
  'a+',
  'freopen r+',
  ...['/dev/fd', '//dev/fd', '/dev/fd by O_CREAT', 'a directory /dev/fd', 'in /dev/fd', 'in /dev/fd, fopen'],
  'freopen /dev/fd',
];
const KEY = 'Train/Image 1.JPG';

/** What a program found out about a file that it opened. */
interface Opened {
  readonly place: string;
  /** What stat says, and whether all calls say so. */
  readonly stat: string;
  readonly bytes: Buffer;
}

/** Opens a file in some way, under the shim if there is an interposer. */
async function open(how: string, file: string, interposer?: Interposer, cwd?: string): Promise<Opened> {
  const env = interposer?.environment() ?? process.env;
  const { stdout, stderr } = await promisify(execFile)(await program('opens'), [how, file], {
    env,
    encoding: 'buffer',
    ...(cwd !== undefined && { cwd }),
  });
  const [place = '', stat = ''] = stderr.toString().split('\n');
  return { place, stat, bytes: stdout };
}

async function served(): Promise<{
  dataset: Dataset;
  file: string;
  interposer: Interposer;
  isCopy: (one: Opened) => boolean;
}> {
  const dataset = makeDataset([KEY, 'other']);
  const interposer = await serve(dataset);
  await interposer.hierarchy.place(KEY);
  await interposer.idle();
  const [tier = ''] = dataset.tiers;
  const isCopy = ({ place }: Opened) => place.startsWith(`${tier}/`);
  return { dataset, file: path.join(dataset.source, KEY), interposer, isCopy };
}

describeShim('a file that has a copy', () => {
  beforeAll(async () => {
    await program('opens');
  });

  it.each(REDIRECTED)(
    'is read there when it is opened by %s, and looks like that of the source',
    async (how) => {
      const { file, interposer, isCopy } = await served();
      const [plain, under] = [await open(how, file), await open(how, file, interposer)];
      expect([isCopy(plain), isCopy(under)]).toEqual([false, true]);
      expect([under.stat, under.bytes]).toEqual([plain.stat, plain.bytes]);
      expect(plain.stat).toMatch(/ same$/);
    },
  );

  it.each(LEFT_ALONE)('[I2] is read in the source when it is opened by %s', async (how) => {
    const { file, interposer } = await served();
    expect(await open(how, file, interposer)).toEqual(await open(how, file));
  });
});

describeShim('the path of a file that has a copy', () => {
  const PATHS: readonly [string, (file: string, above: string) => string][] = [
    ['a dot', (file) => file.replace('/Train/', '/./Train/')],
    ['two dots', (file) => file.replace('/Train/', '/Train/../Train/')],
    ['empty segments', (file) => file.replace('/Train/', '//Train///')],
    [
      'two dots behind a link',
      (file, above) =>
        `${above}/elsewhere/link/../${path.basename(path.dirname(file))}/${path.basename(file)}`,
    ],
    ['a relative path', (file, above) => path.relative(above, file)],
    [
      'a relative path with dots',
      (file, above) => `./${path.relative(above, file)}`.replace('/Train/', '/Train/../Train/'),
    ],
  ];

  it.each(PATHS)('may have %s', async (_, pathOf) => {
    const { dataset, file, interposer, isCopy } = await served();
    const above = path.dirname(dataset.source);
    fs.mkdirSync(path.join(above, 'elsewhere'));
    fs.symlinkSync(path.join(dataset.source, 'Train'), path.join(above, 'elsewhere/link'));
    const asked = pathOf(file, above);
    const [plain, under] = [
      await open('open', asked, undefined, above),
      await open('open', asked, interposer, above),
    ];
    expect([plain.place, isCopy(under)]).toEqual([file, true]);
    expect([under.stat, under.bytes]).toEqual([plain.stat, plain.bytes]);
  });

  it('may lead to a link, unless it must not', async () => {
    const dataset = makeDataset([KEY]);
    fs.symlinkSync(path.basename(KEY), path.join(dataset.source, 'Train/link'));
    const interposer = await serve(dataset);
    for (const key of ['Train/link', KEY]) await interposer.hierarchy.place(key);
    await interposer.idle();
    const link = path.join(dataset.source, 'Train/link');
    for (const file of [link, link.replace('/Train/', '/./Train/')]) {
      expect((await open('open', file, interposer)).place).toContain(dataset.tiers[0] ?? '');
      await expect(open('O_NOFOLLOW', file, interposer)).rejects.toThrow('Too many levels of symbolic links');
    }
    const [plain, under] = [await open('open', link), await open('open', link, interposer)];
    expect([under.stat, under.bytes]).toEqual([plain.stat, plain.bytes]);
  });

  it('[I2] may begin with a link that was named, and else leads to the source', async () => {
    const dataset = makeDataset([KEY]);
    const above = path.dirname(dataset.source);
    const [named, other] = [path.join(above, 'named'), path.join(above, 'other')];
    for (const link of [named, other]) fs.symlinkSync(dataset.source, link);
    const interposer = await serve(dataset, { aliases: [named] });
    await interposer.hierarchy.place(KEY);
    const {
      source,
      tiers: [tier = ''],
    } = dataset;
    expect((await open('open', path.join(named, KEY), interposer)).place).toContain(tier);
    expect((await open('open', path.join(other, KEY), interposer)).place).toBe(path.join(source, KEY));
    const byProcess = await open('open', `/proc/self/cwd/${KEY}`, interposer, source);
    expect(byProcess.place).toBe(path.join(source, KEY));
  });

  it('leads to the copy in other namespaces of processes and mounts, as in a container', async () => {
    const { file, interposer, isCopy } = await served();
    const plain = await open('open', file);
    const { stdout, stderr } = await promisify(execFile)(
      'unshare',
      ['--mount', '--pid', '--fork', '--map-root-user', '--mount-proc', await program('opens'), 'open', file],
      { env: interposer.environment(), encoding: 'buffer' },
    );
    const [place = '', stat = ''] = stderr.toString().split('\n');
    expect([isCopy({ place, stat, bytes: stdout }), stat]).toEqual([true, plain.stat]);
    expect(Buffer.compare(stdout, plain.bytes)).toBe(0);
  });

  it('[I2] is what the kernel says where it means something else', async () => {
    const { dataset, file, interposer } = await served();
    const above = path.dirname(dataset.source);
    // The same path in another mount namespace, where another directory lies at it.
    const other = path.join(above, 'other');
    fs.mkdirSync(path.join(other, 'Train'), { recursive: true });
    fs.writeFileSync(path.join(other, KEY), 'something else');
    const script = 'mount --bind "$0" "$1" && exec "$2" open "$3"';
    const { stdout } = await promisify(execFile)(
      'unshare',
      ['--mount', '--map-root-user', 'sh', '-c', script, other, dataset.source, await program('opens'), file],
      { env: interposer.environment() },
    );
    expect(stdout).toBe('something else');
  });

  it('[I2] is what the kernel says behind another root of the process', async () => {
    const { file, interposer } = await served();
    const jail = temporaryDirectory();
    fs.mkdirSync(path.join(jail, path.dirname(file)), { recursive: true });
    fs.writeFileSync(path.join(jail, file), 'something else');
    const script =
      'import os, sys; first = open(sys.argv[2], "rb").read(); os.chroot(sys.argv[1]); print(len(first), open(sys.argv[2]).read())';
    const { stdout } = await promisify(execFile)(
      'unshare',
      ['--map-root-user', 'python3', '-c', script, jail, file],
      { env: interposer.environment() },
    );
    expect(stdout).toBe(`${fs.statSync(file).size} something else\n`);
    expect(interposer.stats().redirected).toBe(1);
  });
});
