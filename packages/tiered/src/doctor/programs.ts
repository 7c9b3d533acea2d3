import { formatBytes } from '@tiered/core';
import { statfs } from 'node:fs/promises';
import { findingsOn, type Finding } from './finding.js';
import type { MachineFacts } from './machine.js';

/** What `tiered run` needs on this machine. */
export interface ProgramFacts {
  /** The shim that programs are to load, why there is none, or `undefined` where its package is missing. */
  readonly shim: { readonly file: string } | { readonly reason: string } | undefined;
  /** Bytes that are free in `/dev/shm`; undefined where there is none. */
  readonly sharedBytes: number | undefined;
}

/** Looks at shared memory. Nothing is made. */
export async function lookAtPrograms(shim: ProgramFacts['shim']): Promise<ProgramFacts> {
  const found = await statfs('/dev/shm').catch(() => undefined);
  return { shim, sharedBytes: found && found.bavail * found.bsize };
}

const { ok, note } = findingsOn('machine');

/**
 * What a session of `tiered run` may take of shared memory: the spool of objects that no tier takes, and the
 * table of some 100,000 objects. Docker gives a container 64 MiB.
 */
const ENOUGH_SHARED = 256 * 2 ** 20;

/** Whether `tiered run` works on this machine, which only some need. */
export function programsFindTiers(
  { shim, sharedBytes }: ProgramFacts,
  { libc = 'an unknown C library' }: Pick<MachineFacts, 'libc'>,
): Finding[] {
  if (shim === undefined)
    return [
      note(
        '"tiered run" is not installed',
        'For programs that know nothing of tiers: npm install @tiered/interpose',
      ),
    ];
  if ('reason' in shim) return [note(`"tiered run" does not work here: ${shim.reason.replace(/\.$/, '')}`)];
  if (sharedBytes === undefined)
    return [
      note(
        '"tiered run" works here, and there is no /dev/shm: its session is in the directory of temporary files',
        'A disk there makes each open slower. Mount a tmpfs at /dev/shm.',
      ),
    ];
  const found = `"tiered run" works here: the shim for ${libc} is there, and /dev/shm has ${formatBytes(sharedBytes)} free`;
  if (sharedBytes >= ENOUGH_SHARED) return [ok(found)];
  return [note(found, `A large dataset, or one in a bucket, may need more: docker run --shm-size=1g.`)];
}
