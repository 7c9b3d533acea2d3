import { formatBytes } from '@tiered/core';
import type { MachineFacts } from '../facts/machine.js';
import { findingsOn, type Finding } from '../finding.js';

/** What takes memory, by its name. */
export type MemoryUses = ReadonlyMap<string, number>;

/** A training needs memory for itself, and the kernel for what it caches. */
const PLENTY = 0.75;

const { ok, warning, problem } = findingsOn('machine');

/** Whether there is memory for all that may be held in it, by one process. */
export function memorySuffices(
  uses: MemoryUses,
  { memoryBytes }: Pick<MachineFacts, 'memoryBytes'>,
): Finding {
  const needed = [...uses.values()].reduce((sum, bytes) => sum + bytes, 0);
  const parts = [...uses].map(([name, bytes]) => `${name} ${formatBytes(bytes)}`).join(', ');
  const found = `up to ${formatBytes(needed)} of memory are held (${parts}), of ${formatBytes(memoryBytes)} that a process may use here`;
  if (needed > memoryBytes)
    return problem(found, 'Give tiers in RAM less, or the machine or its container more.');
  return needed > PLENTY * memoryBytes
    ? warning(
        found,
        'Leave a quarter to the training itself and to the kernel. Each process has tiers in RAM of its own.',
      )
    : ok(found);
}
