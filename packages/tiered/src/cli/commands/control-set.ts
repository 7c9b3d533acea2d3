import type { Command } from 'commander';
import type { Setting } from '../../control-room/setting.js';
import type { CommandHost } from '../host.js';
import { addControlRegistryOptions, type ControlRegistryOptions } from '../options.js';

/** Adds `tiered control set`. */
export function addSetCommand(control: Command, host: CommandHost): void {
  addControlRegistryOptions(control.command('set'))
    .option('--source <name>', 'the source that is meant, as "tiered control show" calls it')
    .option('--bytes-per-second <size>', 'with --source: what it gives to all jobs together, such as 150MB')
    .option('--operations-per-second <n>', 'with --source: requests that it takes')
    .option('--job <name>', 'the job that is meant, whatever it says of itself')
    .option('--weight <n>', 'with --job: of two that want more, one with twice the weight gets twice as much')
    .option('--priority <n>', 'with --job: higher ones get all that they want first; -100 to 100')
    .option('--at-least <size>', 'with --job: bytes a second of each source, whatever others want')
    .option('--at-most <size>', 'with --job: bytes a second of each source')
    .option('--node <name>', 'the machine that is meant, or "*" for all that nothing else is set for')
    .option(
      '--memory <size>',
      'with --node: what the prefetchers of its jobs may hold together, such as 8GiB',
    )
    .option('--producers <n>', 'with --node: requests at a time of its jobs together')
    .option('--clear', 'removes what was set of the source, the job or the node; alone, everything')
    .description(
      'Sets what a source gives, how a job is treated, or what a node has, for all jobs at once. What is not named stays as it was.',
    )
    .addHelpText(
      'after',
      `
Examples:
  tiered control set --source server:/export --bytes-per-second 150MB
  tiered control set --job imagenet --weight 2 --at-least 20MB
  tiered control set --job imagenet --clear`,
    )
    .action((options: SetOptions) => set(host, options));
}

type SetOptions = ControlRegistryOptions & Setting;

/** Sets something for all jobs, and says what holds now. */
async function set(host: CommandHost, options: SetOptions): Promise<void> {
  const { withControlRegistry } = await import('../shared/control-registry.js');
  const { setInRegistry } = await import('../../control-room/set.js');
  const { policyLines } = await import('../../control-room/text.js');
  await withControlRegistry(host, options, async (registry) => {
    const { policy, remark } = await setInRegistry(registry, options);
    host.write(`${policyLines(policy).join('\n')}\n`);
    if (remark !== undefined) host.terminal.write(`note: ${remark}\n`);
  });
}
