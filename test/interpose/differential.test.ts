import { MemoryDriver, type StorageDriver } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import { Interposer } from '@tiered/interpose';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler } from '@tiered/tiering';
import fc from 'fast-check';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, inject, it, onTestFinished } from 'vitest';
import { describeShim, temporaryDirectory } from '../../packages/interpose/test/helpers.js';
import { LineProcess, type LineProcessOptions } from '../../tools/processes/line-process.js';
import {
  CHANGING,
  CLOSE_ALL,
  EVERY_REFUSAL,
  IN_DIRECTORIES,
  mayChangeOpened,
  READING,
  REFUSED,
  type Line,
} from './file-calls.js';

/** Each starts two programs: half a second. */
const RUNS = inject('nightly') ? 1000 : 60;
const TIMEOUT_MS = 1_800_000;
const PROGRAM = fileURLToPath(new URL('programs/file-calls.py', import.meta.url));
/** What there is at first, and how many bytes. */
const FILES = new Map([
  ['/a.bin', 5000],
  ['/d/b.bin', 70_000],
  ['/d/e/c.txt', 10],
  ['/empty', 0],
]);
const bytesOf = (file: string) => Buffer.from(someBytes(FILES.get(file) ?? 0, file.length));
/** Of all files, so that both directories say the same. */
const LONG_AGO = new Date('2020-02-02');

/** Runs no shell that looks for the interpreter. */
const PYTHON = execFileSync('python3', ['-c', 'import sys; print(sys.executable)'], {
  encoding: 'utf8',
}).trim();

/** Makes the files of a case in a directory. */
function makeFiles(directory: string, mode: number): void {
  for (const file of FILES.keys()) {
    fs.mkdirSync(path.dirname(directory + file), { recursive: true });
    fs.writeFileSync(directory + file, bytesOf(file), { mode });
    fs.utimesSync(directory + file, LONG_AGO, LONG_AGO);
  }
}

/** Where cases are tried: a directory for programs without the shim, and a root for those under it. */
interface Place {
  readonly interposer: Interposer;
  readonly placement: PlacementHandler;
  readonly plain: string;
  readonly root: string;
  /** Makes the files of a case. */
  readonly make: (name: string) => Promise<void>;
  /** How a program is started without the shim. */
  readonly start: (program: LineProcessOptions) => LineProcessOptions;
}

async function served(source: StorageDriver, root?: string) {
  const tier = new FileSystemDriver({ root: temporaryDirectory(), writable: true });
  const placement = new PlacementHandler();
  const hierarchy = { source, tiers: [{ driver: tier, quota: '1GiB' as const }], placement };
  const interposer = await Interposer.open({ hierarchy, root });
  onTestFinished(() => interposer.close());
  return { interposer, placement };
}

/** A source that is a directory: each program has one of its own, which it may write. */
async function real(): Promise<Place> {
  const [plain, root] = [temporaryDirectory(), temporaryDirectory()];
  const make = async (name: string) => {
    for (const above of [plain, root]) makeFiles(path.join(above, name), 0o644);
  };
  const driver = new FileSystemDriver({ root });
  return { ...(await served(driver)), plain, root, make, start: (program) => program };
}

/** Makes a directory read-only for a program, and everything in it. */
const READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"';

/** A source that is none, which looks like a read-only mount of the same files. */
async function imaginary(): Promise<Place> {
  const aboves = [temporaryDirectory(), temporaryDirectory()];
  for (const above of aboves) {
    fs.writeFileSync(path.join(above, 'outside'), '');
    fs.mkdirSync(path.join(above, 'directory'));
  }
  const [plain = '', root = ''] = aboves.map((above) => path.join(above, 'root'));
  const source = new MemoryDriver({ quota: '1GiB' });
  const make = async (name: string) => {
    makeFiles(path.join(plain, name), 0o444);
    for (const file of FILES.keys())
      await source.write(name + file, bytesOf(file), { size: bytesOf(file).byteLength });
  };
  const start = ({ command, arguments: args }: LineProcessOptions) => ({
    command: 'unshare',
    arguments: ['--mount', '--map-root-user', 'sh', '-c', READ_ONLY, plain, command, ...args],
  });
  return { ...(await served(source, root)), plain, root, make, start };
}

let cases = 0;

/** Tries a sequence of calls with and without the shim. */
async function differ(place: Place, copied: readonly string[], lines: readonly Line[]): Promise<void> {
  const { interposer, placement, plain, root, make, start } = place;
  const name = `case-${cases++}`;
  await make(name);
  await interposer.rescan();
  for (const file of copied) await interposer.hierarchy.place(name + file);
  await interposer.idle();
  const program = (directory: string) => ({
    command: PYTHON,
    arguments: ['-I', PROGRAM, path.join(directory, name)],
  });
  const environment = interposer.environment();
  const programs = await Promise.all([
    LineProcess.start(start(program(plain))),
    LineProcess.start({ ...program(root), environment }),
  ]);
  try {
    for (const [number, one] of lines.entries()) {
      if (mayChangeOpened(one))
        for (const close of CLOSE_ALL)
          await Promise.all(programs.map((each) => each.ask(JSON.stringify(close))));
      const [what, file] = one;
      if (what === 'place') await interposer.hierarchy.place(`${name}${String(file)}`).catch(() => undefined);
      else if (what === 'evict') await placement.evict(`${name}${String(file)}`).catch(() => false);
      else if (what === 'settle') await interposer.idle();
      else {
        const said = await Promise.all(programs.map((each) => each.ask(JSON.stringify(one))));
        expect(said[1], `line ${number}, ${JSON.stringify(one)}`).toBe(said[0]);
      }
    }
  } finally {
    await Promise.all(programs.map((each) => each.close()));
  }
}

/** Which files have copies at first, and what is done. */
const sequence = (calls: readonly fc.Arbitrary<Line>[]) =>
  [
    fc.subarray([...FILES.keys()]),
    fc.array(fc.oneof(...calls), { minLength: 1, maxLength: 40, size: 'max' }),
  ] as const;

/** A failure prints a seed and a path, by which `fc.assert` tries the same sequence again. */
describeShim('random sequences of file calls', () => {
  it.each([
    ['[I1] [I2] a directory', real, [...READING, ...IN_DIRECTORIES]],
    ['[I15] a directory that is changed', real, [...READING, ...CHANGING]],
    ['[I7] a root that is not there', imaginary, [...READING, ...IN_DIRECTORIES, ...REFUSED]],
  ] as const)(
    'say under the shim what they say without it, below %s',
    { timeout: TIMEOUT_MS },
    async (_, make, calls) => {
      const place = await make();
      await fc.assert(
        fc.asyncProperty(...sequence(calls), (copied, lines) => differ(place, copied, lines)),
        { numRuns: RUNS },
      );
    },
  );

  it('[I7] refuse every change of everything as a file system does that is mounted for reading', async () => {
    await differ(await imaginary(), [], EVERY_REFUSAL);
  });
});
