import { Command } from 'commander';
import type { WarmupOptions } from '../actions/warmup.js';
import type { CommandHost } from '../host.js';

/** `tiered warmup`. */
export function warmupCommand(host: CommandHost): Command {
  return new Command('warmup')
    .argument('<file>', 'the configuration')
    .option('--prefix <prefix>', 'only the objects whose keys begin so; default: all')
    .option('--json', 'the result as JSON')
    .description('Fills the tiers ahead of a training, in the order of the keys, as far as they have room')
    .action(async (file: string, options: WarmupOptions) => {
      const { warmup } = await import('../actions/warmup.js');
      await warmup(host, file, options);
    });
}
