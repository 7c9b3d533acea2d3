import { SqliteRegistry, type Registry } from '@tiered/cluster/registry';
import { loadMeetingPlace, type MeetingPlace } from '@tiered/config/internal';
import { isTieredError, TieredError } from '@tiered/core';
import { open } from 'node:fs/promises';
import { meetingPlace } from '../../control/meeting-place.js';
import type { CommandHost } from '../host.js';
import type { ControlRegistryOptions } from '../options.js';

/**
 * Works with the registry in which jobs meet, and closes it.
 * @param mayMake Whether a file or a bucket is made that is not there. Default: no, because a look makes
 * nothing.
 * @throws TieredError `TIERED_CONFIG_INVALID` for options that do not go together, for a configuration
 * without a job, and for a file that is no registry; `TIERED_NOT_FOUND` for one that is not there; what the
 * registry says.
 */
export async function withControlRegistry<T>(
  { clock }: CommandHost,
  options: ControlRegistryOptions,
  work: (registry: Registry) => Promise<T>,
  { mayMake = false }: { readonly mayMake?: boolean } = {},
): Promise<T> {
  const registry = meetingPlace(await placeOf(options), clock, mayMake);
  try {
    if (registry instanceof SqliteRegistry) await assertRegistry(registry.path, mayMake);
    await registry.open({}).catch((error: unknown) => {
      throw isTieredError(error, 'TIERED_NOT_FOUND') ? nothingAt(registry.name) : error;
    });
    return await work(registry);
  } finally {
    await registry.close();
  }
}

async function placeOf({ config, registry: place, name }: ControlRegistryOptions): Promise<MeetingPlace> {
  if (config !== undefined) {
    if ((place ?? name) !== undefined) throw wrong('give --config, or --registry and --name, not both');
    const found = await loadMeetingPlace(config);
    if (found === undefined) throw wrong(`${config} has no section "control", so nothing is shared by it`);
    return found;
  }
  if (place === undefined) return { name };
  if (NATS.test(place)) return { name, registry: { nats: { servers: place.split(',') } } };
  if (name !== undefined) throw wrong('give --name or the file of --registry, not both');
  return { registry: { sqlite: place } };
}

const NATS = /^(nats|tls):\/\//;

/** How every SQLite file begins. */
const MAGIC = 'SQLite format 3';

/** A registry that jobs open replaces what is damaged: nothing that an operator may have mistyped. */
async function assertRegistry(file: string, mayMake: boolean): Promise<void> {
  const beginning = await beginningOf(file);
  if (beginning === '') {
    if (!mayMake) throw nothingAt(file);
  } else if (beginning !== MAGIC) throw wrong(`${file} is no registry of jobs; ${ELSEWHERE}`);
}

/** Nothing of a file that is missing. What is wrong with one that cannot be read, the registry says. */
async function beginningOf(file: string): Promise<string> {
  try {
    await using handle = await open(file);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAGIC.length), 0, MAGIC.length, 0);
    return buffer.toString('latin1', 0, bytesRead);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    return ['ENOENT', 'ENOTDIR'].includes(code) ? '' : MAGIC;
  }
}

function nothingAt(place: string): TieredError {
  return new TieredError('TIERED_NOT_FOUND', `There is no registry ${place}. ${HOW_TO_COME}`);
}

function wrong(what: string): TieredError {
  return new TieredError('TIERED_CONFIG_INVALID', what);
}

const ELSEWHERE = 'if jobs meet elsewhere, give --config, --registry or --name';
const HOW_TO_COME =
  'A job comes in by the section "control" of its configuration, such as "control: { job: imagenet }", or by ' +
  `"tiered run --job NAME"; ${ELSEWHERE}.`;

/** What somebody is told who looks where no job is. */
export function nobodyIn({ name }: Registry): string {
  return `No job is in ${name}. ${HOW_TO_COME}`;
}
