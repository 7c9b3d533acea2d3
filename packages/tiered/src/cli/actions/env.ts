import { aboutSession, environmentAt, shimFile } from '@tiered/interpose';
import type { CommandHost } from '../host.js';
import { sessionAt } from './session-at.js';

/** What `tiered env` is told. */
export interface EnvOptions {
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

/** Prints the environment in which programs find a daemon, for a shell, a container, or a program. */
export function printEnvironment(host: CommandHost, { at, docker = false, json = false }: EnvOptions): void {
  const directory = sessionAt(at);
  const environment = environmentAt(directory, {});
  const paths = sharedPaths(directory);
  if (json) host.write(`${JSON.stringify({ environment, paths }, undefined, 2)}\n`);
  else
    host.write(`${(docker ? dockerOptions(environment, paths) : shellCommands(environment)).join('\n')}\n`);
}

function sharedPaths(directory: string): Shared[] {
  const { root = '', isImaginary = true, tiers = [] } = aboutSession(directory) ?? {};
  return [
    { path: directory, isWritten: true },
    ...[shimFile(), ...(isImaginary ? [] : [root]), ...tiers].map((path) => ({ path, isWritten: false })),
  ];
}

/** What the shell preloads already stays in front, as of `tiered run`. */
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
