import type { LoadedConfig } from '@tiered/config';
import { TieredError } from '@tiered/core';
import type { Command } from 'commander';
import { positive } from '../arguments.js';
import type { CommandHost } from '../host.js';
import { addControlRegistryOptions, addMeasuredOptions, type ControlRegistryOptions } from '../options.js';
import type { NewcomerOptions } from '../shared/newcomer.js';

/** Adds `tiered control admit`. */
export function addAdmitCommand(control: Command, host: CommandHost): void {
  const command = addControlRegistryOptions(control.command('admit'))
    .argument('[file]', 'the configuration of the job; options override it')
    .option(
      '--bytes-per-second <size>',
      'bytes per second that the job would read, such as 80MB; default: as simulated, else everything',
    )
    .option('--operations-per-second <n>', 'requests per second that the job would make', positive)
    .option('--weight <n>', 'weight of the job; default: as in the file, else 1', positive)
    .option('--priority <n>', 'priority of the job, -100 to 100; default: as in the file, else 0', Number)
    .option('--at-least <size>', 'bytes per second that are guaranteed to the job')
    .option('--at-most <size>', 'maximum bytes per second of the job')
    .option(
      '--source <name>',
      'the source that the job would read; default: the source of the file, else the only one that jobs ' +
        'read',
    )
    .option(
      '--job <name>',
      'name of the job; the name of an existing job makes it another stage of that job',
    );
  addMeasuredOptions(command)
    .option('--json', 'the same as JSON; null means no bound')
    .description(
      'Tells whether one more job would fit, and what each job would get then; starts nothing. Fails if ' +
        'it would not fit. If the file has a model, its source is listed, and its epochs are simulated with ' +
        'its share.',
    )
    .addHelpText(
      'after',
      `
Examples:
  tiered control admit job.yaml
  tiered control admit job.yaml --weight 2 --compute-mbps 200
  tiered control admit --bytes-per-second 80MB --source server:/export`,
    )
    .action((file: string | undefined, options: AdmitOptions) => admit(host, file, options));
}

interface AdmitOptions extends ControlRegistryOptions, NewcomerOptions {
  readonly json?: boolean;
}

/**
 * Says what would become of all jobs if another one came.
 * @throws TieredError `TIERED_LIMIT_REACHED` if one of them would starve, after it was said.
 */
async function admit(host: CommandHost, file: string | undefined, options: AdmitOptions): Promise<void> {
  const { look } = await import('@tiered/control');
  const { withControlRegistry } = await import('../shared/control-registry.js');
  const { verdictLines } = await import('../../control-room/admit.js');
  const { configIn } = await import('../shared/look.js');
  const { judged, saidOf, trainingOf } = await import('../shared/newcomer.js');
  const config = file === undefined ? undefined : await configIn(host, file);
  const said = await saidOf(config, options);
  // The source may take long to be listed, and what the jobs say is to be of now.
  await using training = await trainingOf(host, file, config, options);
  await withControlRegistry(host, meetingIn(file, config, options), async (registry) => {
    const seen = await look(registry);
    const { candidate, admission, forecast } = await judged(seen, said, training);
    const all = { source: candidate.source, ...admission, ...(forecast && { forecast }) };
    const lines = verdictLines(candidate, admission, forecast);
    host.write(`${options.json === true ? JSON.stringify(all, undefined, 2) : lines.join('\n')}\n`);
    if (!admission.fits) throw new TieredError('TIERED_LIMIT_REACHED', 'One more such job does not fit.');
  });
}

/** Jobs meet where the file says, unless another place is named. */
function meetingIn(
  file: string | undefined,
  config: LoadedConfig | undefined,
  options: ControlRegistryOptions,
): ControlRegistryOptions {
  const { config: other, registry, name } = options;
  const isNamed = (other ?? registry ?? name) !== undefined;
  return isNamed || file === undefined || config?.control === undefined ? options : { config: file };
}
