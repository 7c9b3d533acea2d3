import { configError } from '@tiered/core/internal';
import type { CommandHost } from '../host.js';
import { ProgramEnded } from '../program-ended.js';
import { runChild } from './child.js';
import { environmentOf } from './daemon-at.js';
import { openServed, tellRoot, type InterposerOptions } from './interposer.js';
import { holdingSignals, untilInterrupted } from './interrupt.js';
import { summaryJson, summaryOf } from './summary.js';
import { showStatus } from './watched.js';

/** What `tiered run` is told. */
export interface RunOptions extends InterposerOptions {
  readonly json?: boolean;
  readonly quiet?: boolean;
}

/**
 * Runs a program under the shim, with the tiers of a configuration, those above a source, or those of a
 * daemon.
 * @throws ProgramEnded with the program's exit code, if that is not 0.
 */
export async function runProgram(
  host: CommandHost,
  program: readonly string[],
  { at, quiet = false, json = false, ...options }: RunOptions,
): Promise<void> {
  if (at !== undefined) assertNone(options);
  const code =
    at === undefined
      ? await runServed(host, program, options, { quiet, json })
      : await runChild(program, await environmentOf(host, at), host);
  if (code !== 0) throw new ProgramEnded(code);
}

/** What is said to a daemon it is said when it starts. */
function assertNone({
  config,
  source,
  tier,
  manifest,
  root,
  farm,
  record,
  alias,
  replay,
}: InterposerOptions): void {
  const isSaid = [config, source, manifest, root, farm, record].some((said) => said !== undefined);
  if (isSaid || tier.length + alias.length + replay.length > 0)
    throw configError(
      'tiered run',
      'a source, --config, --tier, --manifest, --root, --farm, --record, --replay and --alias for the daemon',
      'them beside --at',
    );
}

/** Runs a program with copies of its own interposer, which ends with it. Resolves to the exit code. */
function runServed(
  host: CommandHost,
  program: readonly string[],
  options: InterposerOptions,
  { quiet, json }: { readonly quiet: boolean; readonly json: boolean },
): Promise<number> {
  return holdingSignals(async () => {
    const served = await untilInterrupted(host.clock, (signal) => openServed(host, options, signal));
    const { interposer } = served;
    try {
      if (!quiet) tellRoot(host, options, interposer);
      const ended = new AbortController();
      const shown = quiet ? undefined : showStatus(host, interposer, ended.signal);
      const code = await runChild(program, interposer.environment(), host).finally(() => ended.abort());
      await shown;
      const write = json ? summaryJson : summaryOf;
      if (!quiet || json) host.terminal.write(`${write(interposer.stats(), interposer.about.root)}\n`);
      return code;
    } finally {
      await untilInterrupted(host.clock, () => served.close());
    }
  });
}
