import { execFile, execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  describeShim,
  makeDataset,
  opensOf,
  run,
  serve,
  temporaryDirectory,
} from '../../packages/interpose/test/helpers.js';
import { compileOnce } from '../../tools/c/compile.js';

const INSTALL = 'bash tools/servers/install.sh frameworks';
const SOURCES = path.join(import.meta.dirname, 'programs');
const BUILD = path.join(import.meta.dirname, '../../packages/interpose/build/programs');
const KEYS = ['a.bin', 'deep/é 1.bin'];

/** Programs, what compiles them, and whether they call a C library that can be told where copies are. */
const PROGRAMS = {
  'C stdio': { compiler: ['cc', 'reads.c'], args: ['fopen'], isReached: true },
  'C++ ifstream': { compiler: ['c++', 'ifstream.cc'], args: [], isReached: true },
  'syscall(SYS_openat)': { compiler: ['cc', 'reads.c'], args: ['syscall'], isReached: false },
  'a static program': { compiler: ['cc', '-static', 'reads.c'], args: ['fopen'], isReached: false },
};

const compiled = (compiler: readonly string[]) =>
  compileOnce({
    command: [...compiler, '-O2'],
    sources: [SOURCES],
    file: path.join(BUILD, compiler.join('-')),
  });

/** Describes what needs a program. Without it, it is skipped, and fails where `CI=true`. */
function describeWith(program: string, register: () => void): void {
  const isThere = (process.env['PATH'] ?? '')
    .split(':')
    .some((directory) => fs.existsSync(path.join(directory, program)));
  describe.skipIf(!isThere && process.env['CI'] !== 'true')(`${program} (needs ${INSTALL})`, register);
}

describeShim('a compiled program', () => {
  describeWith('c++', () => {
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

  describeWith('cc', () => {
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

  describeWith('fio', () => {
    const engines = ['sync', 'psync', 'vsync', 'pvsync', 'pvsync2', 'mmap', 'libaio', 'posixaio', 'splice'];
    if (mayUse('io_uring')) engines.push('io_uring');
    // Containers often may not, and no command gives it to them.
    else it.skip('verifies what it reads by the engine io_uring, which this kernel refuses');

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
