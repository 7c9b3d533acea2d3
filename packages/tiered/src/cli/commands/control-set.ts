import type { Registry } from '@tiered/cluster/registry';
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
    .option('--at-least <size>', 'with --job: of each source in a second, such as 20MB, whatever others want')
    .option('--at-most <size>', 'with --job: of each source in a second, such as 50MB')
    .option('--node <name>', 'the machine that is meant, or "*" for all that nothing else is set for')
    .option(
      '--memory <size>',
      'with --node: what the prefetchers of its jobs may hold together, such as 8GiB',
    )
    .option('--producers <n>', 'with --node: requests at a time of its jobs together')
    .option('--clear', 'removes what was set of the source, the job or the node, and says what it was')
    .option('--all', 'with --clear, in place of a name: everything that was set of anything')
    .description(
      'Sets what a source gives, how a job is treated, or what a node has, for all jobs at once. What is not named stays as it was.',
    )
    .addHelpText(
      'after',
      `
Examples:
  tiered control set --source server:/export --bytes-per-second 150MB
  tiered control set --job imagenet --weight 2 --at-least 20MB
  tiered control set --job imagenet --clear
  tiered control set --clear --all`,
    )
    .action((options: SetOptions) => set(host, options));
}

type SetOptions = ControlRegistryOptions & Setting;

/** Sets something for all jobs, and says what holds now. */
async function set(host: CommandHost, options: SetOptions): Promise<void> {
  const { withControlRegistry } = await import('../shared/control-registry.js');
  const { setInRegistry } = await import('../../control-room/set.js');
  const { changeOf } = await import('../../control-room/setting.js');
  const { policyLines, removedLine } = await import('../../control-room/text.js');
  // No registry is made for a setting that cannot be.
  changeOf(options);
  const work = async (registry: Registry) => {
    const { policy, removed, notes } = await setInRegistry(registry, options);
    host.write(`${[...removed.map(removedLine), ...policyLines(policy)].join('\n')}\n`);
    for (const note of notes) host.terminal.write(`note: ${note}\n`);
  };
  // What holds for jobs may be set before the first of them is there.
  await withControlRegistry(host, options, work, { mayMake: options.clear !== true });
}
