import { TieredError } from '@tiered/core';
import { Command } from 'commander';
import type { Finding } from '../../doctor/finding.js';
import type { ProgramFacts } from '../../doctor/programs.js';
import { messageOf } from '../../words.js';
import { positive } from '../arguments.js';
import type { CommandHost } from '../host.js';

/** `tiered doctor`. */
export function doctorCommand(host: CommandHost): Command {
  return new Command('doctor')
    .description(
      'Looks for problems with the configuration, source, tiers, credentials, clock, disks, memory and ' +
        'limits. Changes nothing. The exit code is 1 if there is a problem.',
    )
    .argument('<config>', 'the configuration')
    .option('--timeout <seconds>', 'seconds that each storage has to answer', positive, 10)
    .option(
      '--bundle <file>',
      'a new file for a report without secrets, to send to others (.json or .json.gz)',
    )
    .option('--json', 'the findings as JSON')
    .action((config: string, options: DoctorOptions) => doctor(host, config, options));
}

interface DoctorOptions {
  /** Seconds. */
  readonly timeout: number;
  readonly bundle?: string;
  readonly json?: boolean;
}

/**
 * Says what is wrong with a configuration and with all that it needs.
 * @throws TieredError `TIERED_CONFIG_INVALID` if the configuration cannot work, `TIERED_UNAVAILABLE` if there
 * is another problem. The findings are out by then.
 */
async function doctor(
  host: CommandHost,
  config: string,
  { timeout, bundle, json = false }: DoctorOptions,
): Promise<void> {
  const { assertNew, bundleOf, writeBundle } = await import('../../doctor/bundle.js');
  const { diagnose } = await import('../../doctor/diagnose.js');
  const { ProgressBar } = await import('../../progress.js');
  if (bundle !== undefined) await assertNew(bundle);
  const bar = new ProgressBar(host.terminal, host.clock, 'examining');
  const diagnosis = await diagnose(config, {
    clock: host.clock,
    env: process.env,
    timeoutMs: 1000 * timeout,
    shim: lookForShim,
    onProgress: (done, total) => bar.update(done, total),
  }).finally(() => bar.stop());
  const { findings, canWork } = diagnosis;
  host.write(json ? `${JSON.stringify({ findings }, undefined, 2)}\n` : textOf(findings));
  if (bundle !== undefined) {
    await writeBundle(bundle, await bundleOf(diagnosis));
    host.terminal.write(`${bundle} is written, without secrets; look through it before you send it\n`);
  }
  const problems = findings.filter(({ level }) => level === 'problem').length;
  if (problems === 0) return;
  throw new TieredError(
    canWork ? 'TIERED_UNAVAILABLE' : 'TIERED_CONFIG_INVALID',
    `${problems === 1 ? 'There is 1 problem' : `There are ${problems} problems`}.`,
  );
}

/** Looks for the shim that `tiered run` loads into programs. */
async function lookForShim(): Promise<ProgramFacts['shim']> {
  const interpose = await import('@tiered/interpose').catch(() => undefined);
  try {
    return interpose && { file: interpose.shimFile() };
  } catch (error) {
    return { reason: messageOf(error) };
  }
}

/** The findings, by what they are about. */
function textOf(findings: readonly Finding[]): string {
  const lines = findings.flatMap(({ level, about, found, advice }, i) => [
    ...(findings[i - 1]?.about === about ? [] : [about]),
    `  ${level.padEnd(8)} ${found}`,
    ...(advice === undefined ? [] : [`           ${advice}`]),
  ]);
  return `${lines.join('\n')}\n`;
}
