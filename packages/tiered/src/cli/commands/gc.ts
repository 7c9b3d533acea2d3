import { Command } from 'commander';
import type { GcOptions } from '../actions/gc.js';
import type { CommandHost } from '../host.js';

/** `tiered gc`. */
export function gcCommand(host: CommandHost): Command {
  return new Command('gc')
    .summary('Removes copies that are of no use')
    .argument('<config>', 'the configuration')
    .option('--dry-run', 'only says what would be removed')
    .option('--json', 'the result as JSON')
    .description(
      'Removes copies of this source that are of no use: of older versions, of objects that are gone, ' +
        'and what processes left half written. A training does the same when it opens its tiers.',
    )
    .action(async (file: string, options: GcOptions) => {
      const { gc } = await import('../actions/gc.js');
      await gc(host, file, options);
    });
}
