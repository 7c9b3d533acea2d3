import type { Batch } from '../../src/index/index-messages.js';

/** A transaction of a member that says nothing but these changes. */
export function batchOf(member: string, changes: Partial<Batch> = {}): Batch {
  return {
    member,
    quota: undefined,
    seen: undefined,
    directoryBytes: 0,
    wants: 0,
    spare: 0,
    hold: 0,
    claims: [],
    placed: [],
    packed: [],
    sealed: [],
    moved: [],
    leaving: [],
    gone: [],
    ...changes,
  };
}
