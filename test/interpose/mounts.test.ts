import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { describeShim, makeDataset, serve, type Dataset } from '../../packages/interpose/test/helpers.js';
import { LineProcess } from '../../tools/processes/line-process.js';
import { daemonOf, line, place } from './processes.js';
import { environmentAt, type Interposer } from '@tiered/interpose';

/** A mount namespace of its own. */
const UNSHARE = ['unshare', '-rm'] as const;
const canMount = spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', os.tmpdir()]).status === 0;
const NEEDS = 'in a mount namespace (unshare of util-linux, where containers allow it)';
const KEYS = ['train/a', 'train/b'];
const OTHER = 'other';
const DAEMON = new URL('programs/daemon.ts', import.meta.url);

/** Answers each line: the bytes of a file, or what a command says. */
const READ = `
import subprocess, sys
for line in sys.stdin:
  what, rest = line.rstrip("\\n").split(" ", 1)
  if what == "read": print(open(rest, "rb").read().hex(), flush=True)
  else: print(subprocess.run(rest, shell=True, capture_output=True, text=True).stdout.strip(), flush=True)
`;

interface Served {
  readonly dataset: Dataset;
  readonly interposer: Interposer;
  /** A directory with other files of the same names. */
  readonly other: string;
  /** What is in the source at a key, as hexadecimal digits. */
  readonly hexOf: (key: string) => string;
  readonly otherHex: string;
}

/** A source whose files all have copies. */
async function served(aliases: readonly string[] = []): Promise<Served> {
  const dataset = makeDataset(KEYS);
  const above = path.dirname(dataset.source);
  for (const alias of aliases) fs.symlinkSync(dataset.source, path.join(above, alias));
  const other = path.join(above, OTHER);
  for (const key of KEYS) {
    fs.mkdirSync(path.dirname(path.join(other, key)), { recursive: true });
    fs.writeFileSync(path.join(other, key), OTHER);
  }
  const interposer = await serve(dataset, { aliases: aliases.map((alias) => path.join(above, alias)) });
  for (const key of KEYS) await interposer.hierarchy.place(key);
  await interposer.idle();
  const hexOf = (key: string) => dataset.contents.get(key)?.toString('hex') ?? '';
  return { dataset, interposer, other, hexOf, otherHex: Buffer.from(OTHER).toString('hex') };
}

/** A program under the shim, in a mount namespace of its own if it is asked for. */
async function reader({ interposer }: Served, command: readonly string[] = []) {
  const [file, ...args] = [...command, 'python3', '-c', READ];
  const child = await LineProcess.start({
    command: file,
    arguments: args,
    environment: interposer.environment(),
  });
  onTestFinished(() => child.close());
  return {
    read: (file: string) => child.ask(`read ${file}`),
    shell: (line: string) => child.ask(`sh ${line}`),
  };
}

describeShim('below a root that is what it was', () => {
  describe.skipIf(!canMount && process.env['CI'] !== 'true')(NEEDS, () => {
    const WAYS: readonly [string, (served: Served) => string][] = [
      ['a directory', ({ dataset, other }) => `'${other}/train' '${dataset.source}/train'`],
      ['a file', ({ dataset, other }) => `'${other}/train/a' '${dataset.source}/train/a'`],
    ];

    it.each(WAYS)('[I2] programs read what is mounted over %s before they start', async (_, mount) => {
      const all = await served();
      const program = [...UNSHARE, 'sh', '-c', `mount --bind ${mount(all)} && exec "$@"`, 'sh'];
      const { read } = await reader(all, program);
      expect(await read(path.join(all.dataset.source, 'train/a'))).toBe(all.otherHex);
    });

    it.each(WAYS)('[I2] programs that run come to read what is mounted over %s', async (_, mount) => {
      const all = await served();
      const { read, shell } = await reader(all, UNSHARE);
      const file = path.join(all.dataset.source, 'train/a');
      expect(await read(file)).toBe(all.hexOf('train/a'));
      await shell(`mount --bind ${mount(all)}`);
      while ((await read(file)) !== all.otherHex) continue;
      await shell(`umount '${path.join(all.dataset.source, 'train')}' || umount '${file}'`);
      const { redirected } = all.interposer.stats();
      while (all.interposer.stats().redirected === redirected)
        expect(await read(file)).toBe(all.hexOf('train/a'));
    });

    it('[I2] programs read what they mount themselves at once', async () => {
      const all = await served();
      const file = path.join(all.dataset.source, 'train/a');
      const script = `
import ctypes, sys
libc = ctypes.CDLL(None)
read = lambda: open(sys.argv[1], "rb").read().hex()
before = read()
assert libc.mount(sys.argv[2].encode(), sys.argv[1].encode(), None, 4096, None) == 0
print(before, read())
assert libc.umount2(sys.argv[1].encode(), 0) == 0
print(read())
`;
      const [command, ...args] = [...UNSHARE, 'python3', '-c', script, file, path.join(all.other, 'train/a')];
      const said = execFileSync(command, args, { env: all.interposer.environment(), encoding: 'utf8' });
      const hex = all.hexOf('train/a');
      expect(said).toBe(`${hex} ${all.otherHex}\n${hex}\n`);
    });

    it('programs read copies where the same is mounted below the root as the daemon sees there', async () => {
      // The kernel spells a tab by its number.
      const key = 'train\t1/a';
      const dataset = makeDataset([key, 'train/a']);
      const { source, tiers } = dataset;
      const at = place();
      const mount = `mount --bind '${source}/train' '${source}/train\t1' && exec "$@"`;
      const within = [...UNSHARE, 'sh', '-c', mount, 'sh'] as const;
      const daemon = daemonOf(DAEMON, { source, tier: tiers[0], at });
      const [command, ...args] = [...within, daemon.command, ...daemon.arguments] as const;
      const served = await line({ command, arguments: args });
      for (const one of [key, 'train/a']) await served.ask(`place ${one}`);
      const script =
        'import os, sys; print(os.readlink(f"/proc/self/fd/{os.open(sys.argv[1], os.O_RDONLY)}"))';
      const python = ['python3', '-c', script, path.join(source, key)] as const;
      const openedBy = ([file, ...others]: readonly [string, ...string[]]) =>
        execFileSync(file, others, { env: environmentAt(at), encoding: 'utf8' });
      expect(openedBy([...within, ...python])).toContain(tiers[0]);
      expect(openedBy([...UNSHARE, ...python])).toContain(source);
      // It lists the source again, where nothing is mounted any more.
      const [unmount, ...others] = [
        'nsenter',
        '-t',
        await served.ask('pid'),
        '-U',
        '-m',
        'umount',
        '-l',
        `${source}/train\t1`,
      ] as const;
      execFileSync(unmount, others);
      await served.ask('rescan');
      expect(openedBy([...UNSHARE, 'python3', '-c', script, path.join(source, 'train/a')])).toContain(
        tiers[0],
      );
    });

    it('programs read copies where something is mounted elsewhere', async () => {
      const all = await served();
      const { read, shell } = await reader(all, UNSHARE);
      const file = path.join(all.dataset.source, 'train/a');
      expect(await read(file)).toBe(all.hexOf('train/a'));
      await shell(`mount --bind '${all.other}/train' '${all.other}'`);
      // The open that finds that out is made in the source.
      await read(file);
      const { redirected } = all.interposer.stats();
      while (all.interposer.stats().redirected === redirected) await read(file);
    });
  });
});

describeShim('a root that leads elsewhere', () => {
  const swapped: readonly [string, string, (served: Served) => void, (served: Served) => void][] = [
    [
      'a link to the root that was turned',
      'current',
      ({ dataset: { source }, other }) => turn(path.join(path.dirname(source), 'current'), other),
      ({ dataset: { source } }) => turn(path.join(path.dirname(source), 'current'), source),
    ],
    [
      'a root that was swapped',
      'source',
      ({ dataset: { source }, other }) => {
        fs.renameSync(source, `${source}.old`);
        fs.renameSync(other, source);
      },
      ({ dataset: { source }, other }) => {
        fs.renameSync(source, other);
        fs.renameSync(`${source}.old`, source);
      },
    ],
  ];

  it.each(swapped)(
    '[I2] programs that run come to read what is there: %s',
    async (_, name, swap, restore) => {
      const all = await served(['current']);
      const { read } = await reader(all);
      const file = path.join(path.dirname(all.dataset.source), name, 'train/a');
      expect(await read(file)).toBe(all.hexOf('train/a'));
      swap(all);
      while ((await read(file)) !== all.otherHex) continue;
      restore(all);
      const { redirected } = all.interposer.stats();
      while (all.interposer.stats().redirected === redirected)
        expect(await read(file)).toBe(all.hexOf('train/a'));
    },
  );
});

/** Lets a link lead elsewhere, so that there is always one. */
function turn(link: string, to: string): void {
  fs.symlinkSync(to, `${link}.new`);
  fs.renameSync(`${link}.new`, link);
}
