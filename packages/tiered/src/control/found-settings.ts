import type { Control, PolicyRecord } from '@tiered/control';
import { own } from '@tiered/core/internal';
import { policyLines } from '../control-room/text.js';

/** What operators have set of one job, its sources and its node. */
type Settings = Pick<PolicyRecord, 'sources' | 'jobs' | 'nodes'>;

/**
 * What operators have set that concerns a stage, in a line, with the commands that take it back. Settings
 * outlive the jobs for which they were made, and come before what a job says of itself.
 * @returns Undefined if they have set nothing of it.
 */
export function foundSettings(control: Pick<Control, 'view' | 'shares'>): string | undefined {
  const { policy, stages } = control.view().seen;
  if (policy === undefined) return undefined;
  const { id, job, sources } = control.shares();
  const node = stages.find((stage) => stage.id === id)?.node ?? '';
  const settings = {
    sources: pick(policy.sources, Object.keys(sources)),
    jobs: pick(policy.jobs, [job]),
    nodes: pick(policy.nodes, [own(policy.nodes, node) === undefined ? '*' : node]),
  };
  const commands = clearing(settings);
  if (commands.length === 0) return undefined;
  const [, ...lines] = policyLines({ ...policy, ...settings });
  const by = policy.by === undefined ? '' : `, the last by ${policy.by}`;
  return (
    `settings of operators come before its own (revision ${policy.revision}${by}): ` +
    `${lines.map((line) => line.trim()).join('; ')}. To take it back, where the jobs meet: ${commands.join('; ')}`
  );
}

/** The members of these names, as far as something is set of them. */
function pick<T extends object>(
  all: Readonly<Record<string, T>>,
  names: readonly string[],
): Record<string, T> {
  const found = names.flatMap((name) => {
    const one = own(all, name);
    return one === undefined || Object.keys(one).length === 0 ? [] : [[name, one] as const];
  });
  return Object.fromEntries(found);
}

function clearing({ sources, jobs, nodes }: Settings): string[] {
  return Object.entries({ source: sources, job: jobs, node: nodes }).flatMap(([kind, named]) =>
    Object.keys(named).map((name) => `tiered control set --${kind} ${quoted(name)} --clear`),
  );
}

/** As shells take it. */
function quoted(word: string): string {
  return /^[\w./:@=+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
