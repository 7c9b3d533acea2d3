import { execFile, execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import {
  describeShim,
  makeDataset,
  opensOf,
  run,
  serve,
  temporaryDirectory,
} from '../../packages/interpose/test/helpers.js';
import { compiled, describeWith, INSTALL_CC } from './compilers.js';

const KEYS = ['a.bin', 'deep/é 1.bin'];

/** Programs, what compiles them, and whether they call a C library that can be told where copies are. */
const PROGRAMS = {
  'C stdio': { compiler: ['cc', 'reads.c'], args: ['fopen'], isReached: true },
  'C++ ifstream': { compiler: ['c++', 'ifstream.cc'], args: [], isReached: true },
  'a sanitizer of gcc': {
    compiler: ['cc', '-fsanitize=address', 'reads.c'],
    args: ['fopen'],
    isReached: true,
  },
  'syscall(SYS_openat)': { compiler: ['cc', 'reads.c'], args: ['syscall'], isReached: false },
  'a static program': { compiler: ['cc', '-static', 'reads.c'], args: ['fopen'], isReached: false },
};

describeShim('a compiled program', () => {
  describeWith('c++', INSTALL_CC, () => {
    it.each(Object.entries(PROGRAMS))(
      '[I1] reads the same bytes: %s',
      async (_, { compiler, args, isReached }) => {
        const dataset = makeDataset(KEYS, { bytes: 100_000 });
        const interposer = await serve(dataset);
        for (const key of KEYS) await interposer.hierarchy.place(key);
        await interposer.idle();
        const program = await compiled(compiler);
        for (const key of KEYS) {
          const { result, source, copies } = await opensOf(interposer, () =>
            run(interposer, program, [...args, path.join(dataset.source, key)]),
          );
          const bytes = dataset.contents.get(key) ?? Buffer.alloc(0);
          expect(Buffer.compare(Buffer.from(result, 'latin1'), bytes)).toBe(0);
          // What cannot be reached says nothing either.
          expect([source, copies]).toEqual([0, isReached ? 1 : 0]);
        }
      },
    );
  });

  describeWith('musl-gcc', 'bash tools/servers/install.sh musl', () => {
    it.each(['fopen', 'syscall'])('[I2] is left alone if it has the library musl: %s', async (how) => {
      const dataset = makeDataset(KEYS, { bytes: 100_000 });
      const interposer = await serve(dataset);
      for (const key of KEYS) await interposer.hierarchy.place(key);
      await interposer.idle();
      const program = await compiled(['musl-gcc', 'reads.c']);
      for (const key of KEYS) {
        const { stdout, stderr } = await promisify(execFile)(program, [how, path.join(dataset.source, key)], {
          encoding: 'buffer',
          env: interposer.environment(),
        });
        expect(Buffer.compare(stdout, dataset.contents.get(key) ?? Buffer.alloc(0))).toBe(0);
        expect(stderr.toString()).toBe('');
      }
      expect(interposer.stats().opens).toBe(0);
    });
  });

  describeWith('cc', INSTALL_CC, () => {
    it('[I10] reads copies by a farm if it is static', async () => {
      const dataset = makeDataset(KEYS, { bytes: 100_000 });
      const farm = path.join(temporaryDirectory(), 'farm');
      const interposer = await serve(dataset, { farm });
      await interposer.idle();
      expect(interposer.stats().farm).toMatchObject({ links: 2, toCopies: 2 });
      const program = await compiled(['cc', '-static', 'reads.c']);
      for (const key of KEYS) {
        const file = path.join(farm, key);
        expect(fs.realpathSync(file).startsWith(dataset.tiers[0] ?? 'none')).toBe(true);
        const { stdout } = await promisify(execFile)(program, ['fopen', file], { encoding: 'buffer' });
        expect(Buffer.compare(stdout, dataset.contents.get(key) ?? Buffer.alloc(0))).toBe(0);
      }
    });
  });

  describeWith('fio', INSTALL_CC, () => {
    const engines = ['sync', 'psync', 'vsync', 'pvsync', 'pvsync2', 'mmap', 'libaio', 'posixaio', 'splice'];
    // Containers often may not use it, and no command gives it to them.
    const isRefused = !mayUse('io_uring');
    if (!isRefused) engines.push('io_uring');

    /** Written by fio, with the checksums that it verifies when it reads. */
    let written: Buffer;

    beforeAll(async () => {
      const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-fio-'));
      const file = path.join(directory, 'written');
      await promisify(execFile)('fio', [...jobOf(file), '--rw=write', '--do_verify=0', '--ioengine=sync']);
      written = fs.readFileSync(file);
      fs.rmSync(directory, { recursive: true });
    });

    it.each(engines)('[I1] verifies what it reads by the engine %s', async (engine) => {
      const above = temporaryDirectory();
      const source = path.join(above, 'source');
      fs.mkdirSync(source);
      fs.writeFileSync(path.join(source, 'file'), written);
      const interposer = await serve({ source, tiers: [path.join(above, 'tier')] });
      const args = [...jobOf(path.join(source, 'file')), '--rw=read', '--readonly', `--ioengine=${engine}`];
      const read = () => opensOf(interposer, () => run(interposer, 'fio', args));
      expect(await read()).toMatchObject({ source: 1, copies: 0 });
      await interposer.idle();
      expect(await read()).toMatchObject({ source: 0, copies: 1 });
    });

    if (isRefused)
      it('[I1] fails by the engine io_uring as without the shim, as the kernel refuses it', async () => {
        const dataset = makeDataset(['file'], { bytes: 2 ** 20 });
        const interposer = await serve(dataset);
        await interposer.hierarchy.place('file');
        const args = [
          '--name=job',
          `--filename=${path.join(dataset.source, 'file')}`,
          '--rw=read',
          '--readonly',
        ];
        const said = async (env: NodeJS.ProcessEnv) => {
          const output = await new Promise<string>((resolve) => {
            execFile('fio', [...args, '--ioengine=io_uring'], { env }, (_, stdout, stderr) =>
              resolve(stdout + stderr),
            );
          });
          return /^fio: .*error.*$/m.exec(output)?.[0].replace(/pid=\d+/, '');
        };
        const plain = await said(process.env);
        expect(plain).toContain('io_uring');
        expect(await said(interposer.environment())).toBe(plain);
      });
  });
});

const jobOf = (file: string) => [
  ...['--name=job', `--filename=${file}`, '--size=1m', '--bs=16k'],
  // Where a verification was left would be written into the working directory.
  ...['--verify=crc32c', '--verify_fatal=1', '--verify_state_save=0', '--output-format=json'],
];

/** Whether fio can read by an engine here. */
function mayUse(engine: string): boolean {
  try {
    const args = [
      '--name=probe',
      '--filename=/etc/passwd',
      '--readonly',
      '--rw=read',
      '--size=512',
      '--bs=512',
    ];
    execFileSync('fio', [...args, `--ioengine=${engine}`], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
