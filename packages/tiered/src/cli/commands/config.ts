import { Command } from 'commander';
import type { InitOptions } from '../actions/config.js';
import type { CommandHost } from '../host.js';
import { repeated } from '../repeated.js';

/** `tiered config`. */
export function configCommand(host: CommandHost): Command {
  const config = new Command('config')
    .summary('Writes and checks configurations')
    .description('Writes and checks configuration files');
  config
    .command('init')
    .argument('<file>', 'where it goes, such as tiers.yaml')
    .requiredOption('--source <place>', 'a directory, s3://bucket/prefix/, gs://... or az://...')
    .option(
      '--tier <place:quota>',
      'such as ram:8GiB, /nvme/cache:200GiB or /nvme/cache:80%, fastest first; may be repeated',
      repeated,
      [],
    )
    .option(
      '--from <profile>',
      'takes what "tiered calibrate" measured of this source and these tiers: the model, and how many requests',
    )
    .option('--force', 'replaces the file if it is there')
    .description('Writes a configuration, ready to be edited')
    .action(async (file: string, options: InitOptions) => {
      const { init } = await import('../actions/config.js');
      await init(host, file, options);
    });
  config
    .command('check')
    .argument('<file>', 'the configuration')
    .option('--json', 'the levels as JSON')
    .description('Says everything that is wrong with a configuration; opens and writes nothing')
    .action(async (file: string, { json = false }: { json?: boolean }) => {
      const { check } = await import('../actions/config.js');
      await check(host, file, json);
    });
  config
    .command('schema')
    .description('Prints the JSON Schema of configurations, for editors')
    .action(async () => {
      const { schema } = await import('../actions/config.js');
      await schema(host);
    });
  return config;
}
