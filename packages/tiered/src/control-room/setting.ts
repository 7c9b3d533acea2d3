import type { Policy } from '@tiered/control';
import { parseBytes, TieredError } from '@tiered/core';
import { configError, definedOf, own } from '@tiered/core/internal';

/** What an operator sets, as text: of one source, one job or one node. */
export type Setting = {
  readonly [Field in Kind | ValueName]?: string | undefined;
} & {
  /** Removes what was set: of what is named, else everything. */
  readonly clear?: boolean | undefined;
};

type Kind = 'source' | 'job' | 'node';
type ValueName = (typeof VALUES)[Kind][number];

const KINDS = ['source', 'job', 'node'] as const;

/** What may be set of each. */
const VALUES = {
  source: ['bytesPerSecond', 'operationsPerSecond'],
  job: ['weight', 'priority', 'atLeast', 'atMost'],
  node: ['memory', 'producers'],
} as const;

const VALUE_NAMES: readonly ValueName[] = [...VALUES.source, ...VALUES.job, ...VALUES.node];

/** All that a setting may name. */
export const SETTING_FIELDS: readonly (Kind | ValueName)[] = [...KINDS, ...VALUE_NAMES];

/** The section of a policy for each. */
const SECTIONS = { source: 'sources', job: 'jobs', node: 'nodes' } as const;

/**
 * What a setting makes of the policy in force. All else stays as it was set before.
 * @throws TieredError `TIERED_CONFIG_INVALID` for a setting of nothing, or of several things, and for values
 * that cannot be. What bounds weights and the like is checked with the policy.
 */
export function changeOf(setting: Setting): (policy: Policy) => Policy {
  const kinds = KINDS.filter((kind) => setting[kind] !== undefined);
  const fields = VALUE_NAMES.filter((field) => setting[field] !== undefined);
  const [kind] = kinds;
  if (kinds.length > 1) throw wrong(`give one of ${kinds.join(', ')}, and set the others by themselves`);
  if (setting.clear === true) {
    if (fields.length > 0) throw wrong('clear removes values, and takes none');
    return (policy) => (kind === undefined ? NOTHING : cleared(policy, kind, setting[kind] ?? ''));
  }
  if (kind === undefined) throw wrong('name a source, a job or a node');
  const allowed: readonly ValueName[] = VALUES[kind];
  const other = fields.find((field) => !allowed.includes(field));
  if (other !== undefined) throw wrong(`${flagOf(other)} is nothing that a ${kind} has`);
  if (fields.length === 0) throw wrong(`give ${allowed.map(flagOf).join(' or ')} of the ${kind}`);
  const values = Object.fromEntries(fields.map((field) => [field, valueOf(field, setting[field] ?? '')]));
  return (policy) => changed(policy, { kind, name: setting[kind] ?? '', values });
}

const NOTHING: Policy = { sources: {}, jobs: {}, nodes: {} };

function cleared(policy: Policy, kind: Kind, name: string): Policy {
  const section = SECTIONS[kind];
  const rest = Object.entries(policy[section]).filter(([other]) => other !== name);
  return { ...policy, [section]: Object.fromEntries(rest) };
}

interface Change {
  readonly kind: Kind;
  readonly name: string;
  readonly values: Readonly<Partial<Record<ValueName, number>>>;
}

function changed(policy: Policy, { kind, name, values }: Change): Policy {
  const { sources, jobs, nodes } = policy;
  switch (kind) {
    case 'source': {
      const { bytesPerSecond: bytes, operationsPerSecond: operations } = values;
      return {
        ...policy,
        sources: { ...sources, [name]: merged(own(sources, name), { bytes, operations }) },
      };
    }
    case 'job': {
      const before = own(jobs, name);
      const { weight, priority } = values;
      const [atLeast, atMost] = (['atLeast', 'atMost'] as const).map((field) =>
        values[field] === undefined ? undefined : { ...before?.[field], bytes: values[field] },
      );
      return { ...policy, jobs: { ...jobs, [name]: merged(before, { weight, priority, atLeast, atMost }) } };
    }
    case 'node': {
      const { memory, producers } = values;
      return { ...policy, nodes: { ...nodes, [name]: merged(own(nodes, name), { memory, producers }) } };
    }
  }
}

/** What was there, with what is defined of the new values. */
function merged<T extends object>(before: T | undefined, values: T): T {
  return { ...before, ...definedOf(values) } as T;
}

const SIZES: ReadonlySet<ValueName> = new Set(['bytesPerSecond', 'atLeast', 'atMost', 'memory']);

/** Nothing may be bounded to nothing at all: what waits for it would wait for ever. */
function valueOf(field: ValueName, text: string): number {
  const flag = flagOf(field);
  if (SIZES.has(field)) {
    const bytes = parseBytes(text, flag);
    if (bytes > 0 || field === 'atLeast') return bytes;
    throw configError(flag, 'a size above 0, such as "150MB"', text);
  }
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (Number.isFinite(value) && (value > 0 || field === 'priority')) return value;
  throw configError(flag, field === 'priority' ? 'a whole number' : 'a number above 0', text);
}

/** A field of a setting, as commands and forms call it. */
export function flagOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function wrong(what: string): TieredError {
  return new TieredError('TIERED_CONFIG_INVALID', `set: ${what}`);
}
