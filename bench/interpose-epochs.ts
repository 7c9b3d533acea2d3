import { systemClock } from '@tiered/core';
import { randomUUID } from 'node:crypto';
import { cp, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { SlowMount } from '../tools/fuse/slow-mount.js';
import { DaemonProcess } from './interpose/daemon-process.js';
import { frameworks, PYTHON_INSTALL, type Framework } from './interpose/frameworks.js';
import { alternate, median, medianMs, ratio } from './lib/alternate.js';
import { atLeast, atMost, type Bench, type BenchOptions, type Check, type Row } from './lib/bench.js';
import { hasSlowMounts } from './lib/slow-mounts.js';
import { withScratch } from './lib/scratch.js';

const BYTES = 100_000;
/** What the file system of a tier takes for such a file. */
const ON_DISK = 102_400;
/** What the tier takes beside its copies: its index, its log and its directories. */
const INDEX_BYTES = 2.502e6;
/** The room of the smaller tier, as a part of the data: what NoPFS has of ImageNet-1k. */
const PART = 0.56;
const SOURCE = { openMs: 1, readMs: 1, bytesPerSecond: 150e6, cacheSeconds: 3600 };
const EPOCHS = 4;

/** Files, and where a measurement puts what it finds. */
interface Measuring {
  readonly scratch: string;
  /** The files on the local disk. */
  readonly data: string;
  readonly names: readonly string[];
  readonly options: BenchOptions;
  readonly rows: Row[];
  readonly checks: Check[];
}

const bench: Bench = {
  summary:
    "PyTorch's DataLoader and tf.data with and without the shim: samples a second, and epochs over a slow source",
  run: (options) =>
    withScratch(async (scratch) => {
      const [rows, checks]: [Row[], Check[]] = [[], []];
      const there = process.platform === 'linux' ? await frameworks() : [];
      if (there.length === 0) return { rows: [{ loader: `skipped: ${PYTHON_INSTALL}` }], checks };
      options.progress('making the data');
      const data = path.join(scratch, 'data');
      await mkdir(data);
      const names = Array.from({ length: options.quick ? 100 : 1500 }, (_, i) => `${i}.jpg`);
      for (const name of names) await writeFile(path.join(data, name), Buffer.alloc(BYTES, name));
      const measuring = { scratch, data, names, options, rows, checks };
      for (const framework of there) await compareSpeed(framework, measuring);
      if (await hasSlowMounts('a slow source'))
        for (const framework of there) await compareEpochs(framework, measuring);
      return { rows, checks };
    }),
};

export default bench;

/** Starts a framework that reads the files of a directory. */
const startOver = (
  { start }: Pick<Framework, 'start'>,
  { scratch, names }: Measuring,
  root: string,
  environment: NodeJS.ProcessEnv,
) =>
  start({
    ...{ scratch, environment, bytes: BYTES * names.length },
    files: names.map((name) => path.join(root, name)),
  });

/** Samples a second of files in the page cache: plainly, under the shim without copies, and with copies. */
async function compareSpeed(framework: Framework, measuring: Measuring): Promise<void> {
  const { scratch, data, names, options, rows, checks } = measuring;
  await using without = await DaemonProcess.start({
    ...{ source: data, tier: path.join(scratch, 'no-tier'), leaves: '' },
  });
  await using placed = await DaemonProcess.start({ source: data, tier: path.join(scratch, 'tier') });
  await placed.place(names);
  const start = (environment: NodeJS.ProcessEnv) => startOver(framework, measuring, data, environment);
  const processes = [await start({}), await start(without.environment), await start(placed.environment)];
  const [plain, left, copied] = processes;
  // A process of PyTorch takes four rounds to reach its speed.
  const rounds = options.quick ? 1 : 31;
  const timings = await alternate(
    {
      plain: () => plain?.round() ?? Promise.resolve(),
      left: () => left?.round() ?? Promise.resolve(),
      copied: () => copied?.round() ?? Promise.resolve(),
    },
    rounds,
    (round) => options.progress(`${framework.name}: round ${round} of ${rounds}`),
  );
  for (const one of processes) await one.close();
  const perSecond = (setup: string) => Math.round(names.length / (medianMs(timings, setup) / 1000));
  const [asFast, asFastCopied] = [ratio(timings, 'left', 'plain'), ratio(timings, 'copied', 'plain')];
  rows.push({
    loader: framework.name,
    'samples/s without': perSecond('plain'),
    'under the shim, no copies': perSecond('left'),
    'x without': asFast,
    'from copies': perSecond('copied'),
    'x without, from copies': asFastCopied,
  });
  checks.push(atLeast(`${framework.name}: samples/s under the shim, no copies`, asFast, 0.98, 'x'));
  checks.push(atLeast(`${framework.name}: samples/s from copies`, asFastCopied, 0.98, 'x'));
}

/** Seconds of each epoch, and the opens that reached the source in it. */
interface Epochs {
  readonly seconds: number[];
  readonly opens: number[];
}

/** Epochs over a slow source: of the source itself, of the local disk, and of what there is in between. */
async function compareEpochs(framework: Framework, measuring: Measuring): Promise<void> {
  const mount = await SlowMount.start(measuring.data, SOURCE);
  try {
    await compareEpochsOn(mount, framework, measuring);
  } finally {
    await mount.close();
  }
}

async function compareEpochsOn(mount: SlowMount, framework: Framework, measuring: Measuring): Promise<void> {
  const { scratch, names, rows, checks } = measuring;
  const served = { source: mount.directory, tier: path.join(scratch, 'epochs-tier') };
  const local = await epochs(framework, measuring, { root: measuring.data });
  const add = (setup: string, { seconds, opens }: Epochs) =>
    rows.push({ [`${framework.name}, seconds of epochs`]: setup, seconds, 'opens of the source': opens });
  add('the local disk', local);
  add('the source', await epochs(framework, measuring, { root: mount.directory, mount }));
  add('everything copied first', await copiedFirst(framework, measuring, mount));
  if (framework.cached !== undefined)
    add("tf.data's cache", await epochs(framework.cached, measuring, { root: mount.directory, mount }));
  const fitting = Math.round(PART * names.length);
  const quota = fitting * ON_DISK + INDEX_BYTES;
  let unplanned = 0;
  const trace = path.join(scratch, `trace-${randomUUID()}`);
  for (const [setup, room] of [
    ['tiered run, all fits', '4GiB'],
    [`tiered run, room for ${Math.round(PART * 100)} %`, quota],
  ] as const) {
    const record = room === quota ? trace : undefined;
    await using daemon = await DaemonProcess.start({ ...served, quota: room, record });
    const found = await epochs(framework, measuring, { root: mount.directory, mount, daemon });
    add(setup, found);
    const later = found.opens.slice(1);
    const wanted = room === quota ? names.length - fitting : 0;
    const name = `${framework.name}, ${setup}`;
    const off = Math.max(...later.map((opens) => Math.abs(opens - wanted)));
    checks.push(atMost(`${name}: opens of the source in later epochs, off ${wanted}`, off, 0, ''));
    unplanned = median(found.seconds.slice(1));
    if (room !== quota) await compareLater(framework, measuring, mount, daemon);
  }
  await using daemon = await DaemonProcess.start({ ...served, quota, replay: trace });
  const replayed = await epochs(framework, measuring, { root: mount.directory, mount, daemon });
  add('the same, second run, by the plan of the first', replayed);
  const gain = median(replayed.seconds.slice(1)) / unplanned;
  checks.push(atMost(`${framework.name}: epochs with a plan, against the same without`, gain, 1, 'x'));
}

/**
 * Epochs in which all is on the tier, and epochs over the local disk, in alternation: they take so little
 * time that those of one setup after another differ by more than the setups do.
 */
async function compareLater(
  framework: Framework,
  measuring: Measuring,
  mount: SlowMount,
  daemon: DaemonProcess,
): Promise<void> {
  const { data, options, rows, checks } = measuring;
  const local = await startOver(framework, measuring, data, {});
  const served = await startOver(framework, measuring, mount.directory, daemon.environment);
  const rounds = options.quick ? 1 : 21;
  const timings = await alternate(
    { local: () => local.round(), served: () => served.round() },
    rounds,
    (round) => options.progress(`${framework.name}: later epoch ${round} of ${rounds}`),
  );
  for (const one of [local, served]) await one.close();
  const slower = 1 / ratio(timings, 'served', 'local');
  rows.push({
    [`${framework.name}, later epochs in alternation`]: 'ms',
    'the local disk': Math.round(medianMs(timings, 'local')),
    'tiered run, all fits': Math.round(medianMs(timings, 'served')),
    x: Math.round(100 * slower) / 100,
  });
  checks.push(atMost(`${framework.name}: epochs after the first, against the local disk`, slower, 1.05, 'x'));
}

interface EpochsOptions {
  readonly root: string;
  readonly mount?: SlowMount;
  readonly daemon?: DaemonProcess;
}

async function epochs(
  framework: Pick<Framework, 'start' | 'name'>,
  measuring: Measuring,
  { root, mount, daemon }: EpochsOptions,
): Promise<Epochs> {
  const { options } = measuring;
  const process = await startOver(framework, measuring, root, daemon?.environment ?? {});
  const found: Epochs = { seconds: [], opens: [] };
  for (let epoch = 0; epoch < EPOCHS; epoch++) {
    options.progress(`${framework.name}: epoch ${epoch} of ${EPOCHS}`);
    mount?.reset();
    const begun = systemClock.now();
    await process.round();
    found.seconds.push(secondsSince(begun));
    found.opens.push(mount?.counts().open ?? 0);
    // What a training does between two epochs: it evaluates.
    await daemon?.idle();
  }
  await process.close();
  return found;
}

/** The time of the copying is part of the first epoch. */
async function copiedFirst(framework: Framework, measuring: Measuring, mount: SlowMount): Promise<Epochs> {
  const root = path.join(measuring.scratch, 'copied');
  const begun = systemClock.now();
  await cp(mount.directory, root, { recursive: true });
  const copying = secondsSince(begun);
  const { length } = await readdir(root);
  const found = await epochs(framework, measuring, { root });
  await rm(root, { recursive: true });
  const [first = 0, ...others] = found.seconds;
  return { seconds: [round(first + copying), ...others], opens: [length, 0, 0, 0] };
}

const secondsSince = (begun: number) => round((systemClock.now() - begun) / 1000);
const round = (seconds: number) => Math.round(seconds * 100) / 100;
