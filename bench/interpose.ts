import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DaemonProcess } from './interpose/daemon-process.js';
import { alternate, medianMs, ratio, type Setups } from './lib/alternate.js';
import { atLeast, type Bench, type BenchOptions, type Check, type Row } from './lib/bench.js';
import { compileC } from './lib/compile.js';
import { RoundProcess, writePaths } from './lib/round-process.js';
import { withScratch } from './lib/scratch.js';

const FILES = 64;
const BYTES = 100_000;
/** Never placed, so that programs always open them in the source. */
const LEFT = 'left';
const PLACED = 'placed';
/** Placed when programs have opened them already, and read on. */
const HELD = 'held';
const OUTSIDE = 'outside';

/** What a program does, and with which files. */
interface Case {
  readonly call: 'open' | 'pread';
  readonly where: typeof LEFT | typeof PLACED | typeof HELD | typeof OUTSIDE;
  readonly aim: number;
}

const CASES: readonly Case[] = [
  ...[OUTSIDE, LEFT, PLACED].flatMap((where) => [
    { call: 'open', where, aim: 0.97 } as Case,
    { call: 'pread', where, aim: 0.98 } as Case,
  ]),
  { call: 'pread', where: HELD, aim: 0.98 },
];

const bench: Bench = {
  summary:
    'what the shim costs a program in C: open and close, and pread of 4 KiB, against the same program without it',
  run: (options) =>
    withScratch(async (scratch) => {
      const rows: Row[] = [];
      const checks: Check[] = [];
      const missing = await whyMissing(scratch);
      if (missing !== undefined) return { rows: [{ calls: `skipped: ${missing}` }], checks };
      options.progress('making the data');
      const files = await makeFiles(scratch);
      const source = path.join(scratch, 'source');
      await using daemon = await DaemonProcess.start({
        ...{ source, tier: path.join(scratch, 'tier'), leaves: LEFT },
      });
      const place = (where: Case['where']) =>
        daemon.place((files.get(where) ?? []).map((file) => path.relative(source, file)));
      await place(PLACED);
      for (const one of CASES)
        await measure(one, files.get(one.where) ?? [], { scratch, daemon, place, options, rows, checks });
      return { rows, checks };
    }),
};

export default bench;

/** Compiles the program. Resolves to the reason why that cannot be. */
async function whyMissing(scratch: string): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'the shim is for Linux only';
  try {
    await compileC(new URL('interpose/calls.c', import.meta.url), scratch);
    return undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      return 'install a compiler: apt-get install gcc libc6-dev';
    throw error;
  }
}

async function makeFiles(scratch: string): Promise<Map<string, string[]>> {
  const files = new Map<string, string[]>();
  for (const [where, above] of [
    [LEFT, 'source'],
    [PLACED, 'source'],
    [HELD, 'source'],
    [OUTSIDE, '.'],
  ] as const) {
    const directory = path.join(scratch, above, where);
    await mkdir(directory, { recursive: true });
    const names = Array.from({ length: FILES }, (_, i) => path.join(directory, `${i}.jpg`));
    for (const name of names) await writeFile(name, Buffer.alloc(BYTES, name));
    files.set(where, names);
  }
  return files;
}

/** Where a measurement takes place, and where its result goes. */
interface Measuring {
  readonly scratch: string;
  readonly daemon: DaemonProcess;
  readonly place: (where: Case['where']) => Promise<void>;
  readonly options: BenchOptions;
  readonly rows: Row[];
  readonly checks: Check[];
}

async function measure(
  { call, where, aim }: Case,
  files: readonly string[],
  { scratch, daemon, place, options: { quick, progress }, rows, checks }: Measuring,
): Promise<void> {
  const count = (quick ? 2000 : 100_000) * (call === 'pread' ? 4 : 1);
  const list = await writePaths(scratch, files);
  const start = (environment: NodeJS.ProcessEnv) =>
    RoundProcess.start({
      command: path.join(scratch, 'calls'),
      arguments: [call, String(count), list],
      bytes: count,
      environment,
    });
  const [plain, under] = [await start({}), await start(daemon.environment)];
  if (where === HELD) {
    // Each process opens its files in its first round.
    for (const one of [plain, under]) await one.round();
    await place(where);
  }
  const setups: Setups = { without: () => plain.round(), with: () => under.round() };
  const rounds = quick ? 1 : 15;
  const name = `${call === 'open' ? 'open and close' : 'pread of 4 KiB'}, ${nameOf(where)}`;
  const timings = await alternate(setups, rounds, (round) =>
    progress(`${name}: round ${round} of ${rounds}`),
  );
  await plain.close();
  await under.close();
  const share = ratio(timings, 'with', 'without');
  const ns = (setup: string) => Math.round((medianMs(timings, setup) * 1e6) / count);
  rows.push({ calls: name, 'ns without': ns('without'), 'ns with': ns('with'), 'x as fast': share });
  checks.push(atLeast(`${name}: with the shim`, share, aim, 'x'));
}

function nameOf(where: Case['where']): string {
  if (where === OUTSIDE) return 'outside the source';
  if (where === HELD) return 'opened before its copy came';
  return where === LEFT ? 'in the source, without a copy' : 'in the source, with a copy';
}
