import { isTieredError, TieredError } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import { environmentAt, hasDaemonAt, SESSION_VARIABLE } from '@tiered/interpose';
import fs from 'node:fs';
import path from 'node:path';
import { deniedAt } from '../failure.js';
import type { CommandHost } from '../host.js';

/**
 * The directory of a session: the one that is named, else the one that this program was started with.
 * @throws TieredError `TIERED_CONFIG_INVALID` if there is neither.
 */
export function sessionAt(at: string | undefined): string {
  const directory = at ?? process.env[SESSION_VARIABLE];
  if (directory === undefined)
    throw new TieredError(
      'TIERED_CONFIG_INVALID',
      'Name the directory of a "tiered daemon": --at DIRECTORY. Only what "tiered run" started needs none.',
    );
  return path.resolve(directory);
}

/** The environment of programs that find a daemon. Where there is none, says so: they read the source. */
export async function environmentOf(
  { terminal }: Pick<CommandHost, 'terminal'>,
  at: string,
): Promise<NodeJS.ProcessEnv> {
  const env = knownAt(at);
  if (env === undefined && isDenied(at))
    terminal.write(`${at}: ${deniedAt(at)}. A daemon serves its own user: the program reads the source.\n`);
  else if (env === undefined || !(await hasDaemonAt(at)))
    terminal.write(`There is no daemon at ${at}: the program reads the source.\n`);
  return env ?? process.env;
}

/** Whether this user may not look into a directory. */
function isDenied(directory: string): boolean {
  try {
    fs.lstatSync(path.join(directory, 'ring'), { throwIfNoEntry: false });
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES';
  }
}

/** Also that of a daemon that is gone: another one may come in its place. */
function knownAt(at: string): NodeJS.ProcessEnv | undefined {
  try {
    return environmentAt(at);
  } catch (error) {
    if (isTieredError(error, 'TIERED_NOT_FOUND')) return undefined;
    throw error;
  }
}

/**
 * Refuses a path for a daemon at which there is surely something else than what another one left behind.
 * @throws TieredError `TIERED_CONFIG_INVALID`
 */
export async function assertNotTaken(at: string): Promise<void> {
  if (fs.lstatSync(at, { throwIfNoEntry: false }) === undefined) return;
  const isSession = fs.existsSync(path.join(at, 'ring'));
  if (isSession && !(await hasDaemonAt(at))) return;
  if (!isSession) throw configError('--at', 'a path at which there is nothing', at);
  throw new TieredError(
    'TIERED_CONFIG_INVALID',
    `A daemon already runs at ${at}. End it first, or name another path by --at.`,
  );
}
