import type { Registry } from '@tiered/cluster/registry';
import { look, setPolicy, type Policy, type PolicyRecord } from '@tiered/control';
import { randomUUID } from 'node:crypto';
import os from 'node:os';
import { userName } from '../user-name.js';
import { notesOn } from './notes.js';
import { changeOf, KINDS, type Setting } from './setting.js';
import { settingLines } from './text.js';

/** What has come of a setting. */
export interface Done {
  /** The policy that holds now. */
  readonly policy: PolicyRecord;
  /** What was cleared, in lines. */
  readonly removed: readonly string[];
  /** What its operator may not have meant. */
  readonly notes: readonly string[];
}

/**
 * Sets something for all jobs, by the name of this user and machine.
 * @throws TieredError `TIERED_CONFIG_INVALID` for what cannot be set, `TIERED_TOO_LARGE` for more than a
 * record holds, `TIERED_UNAVAILABLE` if the registry cannot be reached.
 */
export async function setInRegistry(registry: Registry, setting: Setting): Promise<Done> {
  const change = changeOf(setting);
  let before: readonly string[] = [];
  const changed = (policy: Policy) => {
    before = settingLines(policy);
    return change(policy);
  };
  const policy = await setPolicy(registry, changed, { owner: randomUUID(), by: operator() });
  if (setting.clear !== true) {
    const { stages } = await look(registry);
    return { policy, removed: [], notes: notesOn(setting, { stages, policy }) };
  }
  const after = settingLines(policy);
  const removed = before.filter((line) => !after.includes(line));
  return { policy, removed, notes: removed.length > 0 ? [] : [nothingOf(setting)] };
}

function nothingOf(setting: Setting): string {
  const kind = KINDS.find((one) => setting[one] !== undefined);
  return kind === undefined ? 'nothing was set' : `nothing was set of the ${kind} ${setting[kind]}`;
}

/** Who sets it, for those who look. */
function operator(): string {
  const user = userName() ?? `user ${process.getuid?.() ?? ''}`.trim();
  return `${user}@${os.hostname()}`;
}
