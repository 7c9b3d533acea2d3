import { Command, Option } from 'commander';
import { asMissing } from '../failure.js';
import type { CommandHost } from '../host.js';
import { addSessionOption } from '../options.js';

/** `tiered env`. */
export function envCommand(host: CommandHost): Command {
  return addSessionOption(new Command('env'))
    .summary('Prints what a job script or a container needs to find a daemon')
    .description(
      'Prints the environment in which programs find a "tiered daemon", as shell commands: eval "$(tiered ' +
        'env --at DIRECTORY)".',
    )
    .addOption(
      new Option(
        '--docker',
        'options for docker run or podman run: the environment, and everything that has to be at the same ' +
          'paths',
      ).conflicts('json'),
    )
    .option('--json', 'environment and paths as JSON')
    .action((options: EnvOptions) => printEnvironment(host, options));
}

interface EnvOptions {
  readonly at?: string;
  readonly docker?: boolean;
  readonly json?: boolean;
}

/** A path that has to be the same in a container. */
interface Shared {
  readonly path: string;
  /** Whether programs write there: they tell the daemon what they opened. */
  readonly isWritten: boolean;
}

/**
 * Prints the environment in which programs find a daemon, for a shell, a container, or a program. That of one
 * that is gone is printed as well: another one may come in its place.
 */
async function printEnvironment(
  host: CommandHost,
  { at, docker = false, json = false }: EnvOptions,
): Promise<void> {
  const { environmentAt, hasDaemonAt } = await import('@tiered/interpose').catch(asMissing);
  const { sessionAt } = await import('../shared/daemon-at.js');
  const directory = sessionAt(at);
  const environment = environmentAt(directory, {});
  const paths = await sharedPaths(directory);
  if (!(await hasDaemonAt(directory)))
    host.terminal.write(
      `warning: the daemon at ${directory} has ended; programs read the source until another one begins there.\n`,
    );
  if (json) host.write(`${JSON.stringify({ environment, paths }, undefined, 2)}\n`);
  else
    host.write(`${(docker ? dockerOptions(environment, paths) : shellCommands(environment)).join('\n')}\n`);
}

async function sharedPaths(directory: string): Promise<Shared[]> {
  const { aboutSession, shimFile } = await import('@tiered/interpose');
  const { root = '', isImaginary = true, tiers = [] } = aboutSession(directory) ?? {};
  return [
    { path: directory, isWritten: true },
    ...[shimFile(), ...(isImaginary ? [] : [root]), ...tiers].map((path) => ({ path, isWritten: false })),
  ];
}

/** Libraries that the shell preloads already stay in front, as with `tiered run`. */
function shellCommands({ LD_PRELOAD = '', ...others }: NodeJS.ProcessEnv): string[] {
  return [
    `export LD_PRELOAD="\${LD_PRELOAD:+$LD_PRELOAD:}"${quoted(LD_PRELOAD)}`,
    ...Object.entries(others).map(([name, value = '']) => `export ${name}=${quoted(value)}`),
  ];
}

function dockerOptions(environment: NodeJS.ProcessEnv, paths: readonly Shared[]): string[] {
  const mountOf = ({ path, isWritten }: Shared) =>
    `type=bind,"src=${path}","dst=${path}"${isWritten ? '' : ',readonly'}`;
  return [
    ...Object.entries(environment).map(([name, value = '']) => `--env ${quoted(`${name}=${value}`)}`),
    ...paths.map((shared) => `--mount ${quoted(mountOf(shared))}`),
  ];
}

/** Text as a word of a shell. */
function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
