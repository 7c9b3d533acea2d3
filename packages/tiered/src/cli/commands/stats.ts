import { Command } from 'commander';
import type { CommandHost } from '../host.js';

/** `tiered stats`. */
export function statsCommand(host: CommandHost): Command {
  return new Command('stats')
    .argument('<file>', 'the configuration')
    .option('--json', 'the statistics as JSON')
    .description('Says how full each tier is, and what is known of the source')
    .action(async (file: string, { json = false }: { json?: boolean }) => {
      const { stats } = await import('../actions/stats.js');
      await stats(host, file, json);
    });
}
