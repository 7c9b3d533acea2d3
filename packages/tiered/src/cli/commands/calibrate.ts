import { TieredError, type StorageDriver } from '@tiered/core';
import { configError, definedOf } from '@tiered/core/internal';
import { Command } from 'commander';
import { access, constants, open, rm, stat, writeFile } from 'node:fs/promises';
import { positive } from '../arguments.js';
import type { CommandHost } from '../host.js';
import { untilInterrupted } from '../interrupt.js';

/** `tiered calibrate`. */
export function calibrateCommand(host: CommandHost): Command {
  return new Command('calibrate')
    .summary('Measures the source and the tiers')
    .description(
      'Measures the source and the tiers of a configuration at rising concurrency, for the simulator and ' +
        'the hierarchy. Writes to the tiers, under tiered-calibration/, and leaves them as they were. Run ' +
        'it while nothing else uses them.',
    )
    .argument('<config>', 'the configuration')
    .option('-o, --out <file>', 'file for the profile; default: printed')
    .option('--seconds <n>', 'seconds for all measurements; default: 30', positive)
    .option('--bytes <size>', 'bytes to read and write in total, such as 500MB; default: 2GiB')
    .option('--read-bytes <size>', 'size of the reads of the loader, such as 256KiB; default: whole objects')
    .option(
      '--peers <url>',
      'another worker of the cluster, such as http://10.0.0.2:9440, to measure the network; TIERED_TOKEN ' +
        'holds its token',
    )
    .action((config: string, options: CalibrateOptions) => calibrateTo(host, config, options));
}

interface CalibrateOptions {
  readonly out?: string;
  readonly seconds?: number;
  readonly bytes?: string;
  readonly readBytes?: string;
  readonly peers?: string;
}

/**
 * Measures the levels of a configuration, and writes or prints the profile. Ctrl-C ends it, after what was
 * written to the tiers is deleted.
 */
async function calibrateTo(
  host: CommandHost,
  config: string,
  { out, seconds, bytes, readBytes, peers: url }: CalibrateOptions,
): Promise<void> {
  const { ProgressBar } = await import('../../progress.js');
  const { levelsIn } = await import('../shared/look.js');
  const { calibrate, unsteadyIn } = await import('@tiered/simulator/calibration');
  // The profile that the configuration names may be the one that is to be made.
  const levels = await levelsIn(host, config);
  if (out !== undefined) await assertWritable(out);
  const peers = url === undefined ? undefined : await peerAt(url, host);
  const bar = new ProgressBar(host.terminal, host.clock, 'measuring');
  const profile = await untilInterrupted(host.clock, (signal) =>
    calibrate(levels, {
      ...definedOf({ seconds, bytes, readBytes, peers }),
      clock: host.clock,
      signal,
      onProgress: (done, total) => bar.update(done, total),
    }),
  ).finally(() => bar.stop());
  for (const warning of unsteadyIn(profile)) host.terminal.write(`warning: ${warning}\n`);
  const text = `${JSON.stringify(profile, undefined, 2)}\n`;
  if (out === undefined) {
    host.write(text);
    return;
  }
  await keep(out, text, host);
  host.write(
    `${out} is written; "tiered simulate profile ${out} --config ${config}" says what other quotas would bring\n`,
  );
}

/** Another worker, as a cluster reads from it. */
async function peerAt(url: string, { clock }: CommandHost): Promise<StorageDriver> {
  if (!URL.canParse(url)) throw configError('--peers', 'the URL of a worker', url);
  const { OnePeerDriver } = await import('@tiered/cluster/internal');
  return new OnePeerDriver({ url, token: process.env['TIERED_TOKEN'], clock });
}

/**
 * Refuses a file that cannot be written, before half a minute of measuring is spent on it. An existing file
 * stays as it is.
 * @throws TieredError `TIERED_CONFIG_INVALID`
 */
async function assertWritable(out: string): Promise<void> {
  try {
    if (await isNew(out)) await rm(out);
    else if ((await stat(out)).isDirectory()) throw Object.assign(new Error(), { code: 'EISDIR' });
    else await access(out, constants.W_OK);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const reason = REASONS[code ?? ''] ?? `the system says ${code}`;
    throw new TieredError('TIERED_CONFIG_INVALID', `--out: ${out} cannot be written: ${reason}.`, { cause });
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such directory; make it first',
  ENOTDIR: 'a file stands where a directory must be',
  EISDIR: 'that is a directory; give the name of a file',
  EACCES: 'access is denied',
};

/** Whether the file did not exist; now it does. */
async function isNew(out: string): Promise<boolean> {
  try {
    await (await open(out, 'ax')).close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Writes the profile. If that has become impossible meanwhile, the profile is printed, so that it is not
 * lost.
 */
async function keep(out: string, text: string, host: CommandHost): Promise<void> {
  try {
    await writeFile(out, text);
  } catch (error) {
    host.write(text);
    throw error;
  }
}
