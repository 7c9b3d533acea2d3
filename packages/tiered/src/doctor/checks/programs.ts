import { formatBytes } from '@tiered/core';
import type { MachineFacts } from '../facts/machine.js';
import type { ProgramFacts } from '../facts/programs.js';
import { findingsOn, type Finding } from '../finding.js';

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
