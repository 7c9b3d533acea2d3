import { Command } from 'commander';
import type { RescanOptions } from '../actions/rescan.js';
import type { CommandHost } from '../host.js';
import { asMissing } from '../missing-interpose.js';
import { addSessionOption } from '../serving.js';

/** `tiered rescan`. */
export function rescanCommand(host: CommandHost): Command {
  return addSessionOption(new Command('rescan'))
    .summary('Has a daemon list its source again')
    .description(
      'Has a "tiered daemon" list its source again, so that programs read copies also of what came or changed. Ends when that is done.',
    )
    .action(async (options: RescanOptions) => {
      const { rescan } = await import('../actions/rescan.js').catch(asMissing);
      await rescan(host, options);
    });
}
