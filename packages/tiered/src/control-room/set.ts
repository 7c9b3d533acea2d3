import type { Registry } from '@tiered/cluster/registry';
import { look, setPolicy, type PolicyRecord } from '@tiered/control';
import { randomUUID } from 'node:crypto';
import os from 'node:os';
import { userName } from '../user-name.js';
import { changeOf, type Setting } from './setting.js';

/** The policy that holds now. */
export interface Done {
  readonly policy: PolicyRecord;
  /** What its operator may not have meant. */
  readonly remark: string | undefined;
}

/**
 * Sets something for all jobs, by the name of this user and machine.
 * @throws TieredError `TIERED_CONFIG_INVALID` for what cannot be set, `TIERED_TOO_LARGE` for more than a
 * record holds, `TIERED_UNAVAILABLE` if the registry cannot be reached.
 */
export async function setInRegistry(registry: Registry, setting: Setting): Promise<Done> {
  const policy = await setPolicy(registry, changeOf(setting), { owner: randomUUID(), by: operator() });
  return { policy, remark: await remarkOf(registry, setting) };
}

/** Names are compared as they are, and nothing says that one was mistyped. */
async function remarkOf(registry: Registry, { source, job, clear }: Setting): Promise<string | undefined> {
  if (clear === true || (source ?? job) === undefined) return undefined;
  const { stages } = await look(registry);
  const [what, name, known] =
    source === undefined
      ? ['job', job ?? '', stages.map((stage) => stage.job)]
      : ['source', source, stages.flatMap((stage) => Object.keys(stage.sources))];
  if (known.includes(name)) return undefined;
  const others = [...new Set(known)].sort().join(', ') || 'none';
  return `no stage has a ${what} ${name} now; there are: ${others}`;
}

/** Who sets it, for those who look. */
function operator(): string {
  const user = userName() ?? `user ${process.getuid?.() ?? ''}`.trim();
  return `${user}@${os.hostname()}`;
}
