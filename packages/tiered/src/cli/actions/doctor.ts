import { TieredError } from '@tiered/core';
import { assertNew, bundleOf, diagnose, writeBundle, type Finding } from '../../doctor/index.js';
import { ProgressBar } from '../../progress.js';
import type { CommandHost } from '../host.js';

/** What `tiered doctor` is told. */
export interface DoctorOptions {
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
export async function doctor(
  host: CommandHost,
  config: string,
  { timeout, bundle, json = false }: DoctorOptions,
): Promise<void> {
  if (bundle !== undefined) await assertNew(bundle);
  const bar = new ProgressBar(host.terminal, host.clock, 'examining');
  const diagnosis = await diagnose(config, {
    clock: host.clock,
    env: process.env,
    timeoutMs: 1000 * timeout,
    shim: () =>
      import('./shim.js').then(
        ({ lookForShim }) => lookForShim(),
        () => undefined,
      ),
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

/** The findings, by what they are about. */
function textOf(findings: readonly Finding[]): string {
  const lines = findings.flatMap(({ level, about, found, advice }, i) => [
    ...(findings[i - 1]?.about === about ? [] : [about]),
    `  ${level.padEnd(8)} ${found}`,
    ...(advice === undefined ? [] : [`           ${advice}`]),
  ]);
  return `${lines.join('\n')}\n`;
}
