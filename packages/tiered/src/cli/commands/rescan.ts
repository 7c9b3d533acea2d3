import { Command } from 'commander';
import { asMissing } from '../failure.js';
import type { CommandHost } from '../host.js';
import { untilInterrupted } from '../interrupt.js';
import { addSessionOption } from '../options.js';

/** `tiered rescan`. */
export function rescanCommand(host: CommandHost): Command {
  return addSessionOption(new Command('rescan'))
    .summary('Makes a daemon list its source again')
    .description(
      'Makes a "tiered daemon" list its source again, so that programs also get copies of new and changed ' +
        'objects. Ends when the source has been listed.',
    )
    .action((options: { readonly at?: string }) => rescan(host, options));
}

async function rescan(host: CommandHost, { at }: { readonly at?: string }): Promise<void> {
  const { rescanAt } = await import('@tiered/interpose').catch(asMissing);
  const { sessionAt } = await import('../shared/daemon-at.js');
  await untilInterrupted(host.clock, (signal) => rescanAt(sessionAt(at), { signal }));
}
