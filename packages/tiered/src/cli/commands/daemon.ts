import { Command } from 'commander';
import { once } from 'node:events';
import path from 'node:path';
import { asMissing } from '../failure.js';
import type { CommandHost } from '../host.js';
import { untilInterrupted } from '../interrupt.js';
import { addServingOptions, SOURCE } from '../options.js';
import type { InterposerOptions } from '../shared/interposer.js';
import { summaryJson, summaryOf } from '../summary.js';

/** `tiered daemon`. */
export function daemonCommand(host: CommandHost): Command {
  const command = new Command('daemon')
    .summary('Serves several programs that are started separately')
    .description(
      'Serves a source, or a configuration, to programs that "tiered run --at" starts, until it is ' +
        'interrupted. Programs that outlive it read the source.',
    )
    .argument('[source]', SOURCE)
    .requiredOption(
      '--at <directory>',
      'directory where programs find the daemon; made by this command, for this user alone',
    );
  return addServingOptions(command)
    .option('--json', 'standard output as lines of JSON, including the summary')
    .action((source: string | undefined, options: DaemonOptions) =>
      serveDaemon(host, { ...options, source }),
    );
}

interface DaemonOptions extends InterposerOptions {
  readonly at: string;
  readonly json?: boolean;
}

/** Serves a hierarchy to programs that others start, until a signal ends it. */
async function serveDaemon(host: CommandHost, { json = false, ...options }: DaemonOptions): Promise<void> {
  const { openServed, tellRoot } = await import('../shared/interposer.js').catch(asMissing);
  const at = path.resolve(options.at);
  // Programs find it without being told.
  host.output.on('error', (error: Error) => {
    host.terminal.write(`Standard output cannot be written to: ${error.message}\n`);
  });
  await untilInterrupted(host.clock, async (signal) => {
    await using served = await openServed(host, { ...options, at }, signal);
    const { interposer } = served;
    tellRoot(host, options, interposer);
    const { about } = interposer;
    const ready = json ? JSON.stringify({ at, root: about.root }) : `ready: tiered run --at ${at} -- PROGRAM`;
    host.write(`${ready}\n`);
    if (!signal.aborted) await once(signal, 'abort');
    if (json) host.write(`${summaryJson(interposer.stats(), about)}\n`);
    else host.terminal.write(`${summaryOf(interposer.stats(), about)}\n`);
  });
}
