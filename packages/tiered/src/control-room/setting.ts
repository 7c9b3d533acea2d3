import type { Policy } from '@tiered/control';
import { parseBytes, TieredError } from '@tiered/core';
import { configError, definedOf, own } from '@tiered/core/internal';
import { givenRate } from '../words.js';

/** What an operator sets, as text: of one source, one job or one node. */
export type Setting = {
  readonly [Field in Kind | ValueName]?: string | undefined;
} & {
  /** Removes what was set, of what is named. */
  readonly clear?: boolean | undefined;
  /** With `clear`, in place of a name: removes everything. */
  readonly all?: boolean | undefined;
};

/** What something can be set of. */
export type Kind = (typeof KINDS)[number];
/** What can be set of it. */
export type ValueName = (typeof VALUES)[Kind][number];

/** All of them. */
export const KINDS = ['source', 'job', 'node'] as const;

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
  if (setting.all === true && (setting.clear !== true || kind !== undefined))
    throw wrong('--all goes with --clear, and with no name');
  if (setting.clear === true) {
    if (fields.length > 0) throw wrong('clear removes values, and takes none');
    if (setting.all === true) return () => NOTHING;
    if (kind === undefined)
      throw wrong('say what to clear: --source, --job or --node with a name, or --all for everything');
    return (policy) => cleared(policy, kind, setting[kind] ?? '');
  }
  if (kind === undefined) throw wrong('name a source, a job or a node');
  const allowed: readonly ValueName[] = VALUES[kind];
  const other = fields.find((field) => !allowed.includes(field));
  if (other !== undefined) throw wrong(`${flagOf(other)} is nothing that a ${kind} has`);
  if (fields.length === 0) {
    const flags = allowed.map((field) => `--${flagOf(field)}`).join(', ');
    throw wrong(
      `nothing is given for the ${kind} ${setting[kind]}; give one or more of ${flags}, or --clear`,
    );
  }
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
      const terms = merged(before, { weight, priority, atLeast, atMost });
      assertInOrder(name, terms);
      return { ...policy, jobs: { ...jobs, [name]: terms } };
    }
    case 'node': {
      const { memory, producers } = values;
      return { ...policy, nodes: { ...nodes, [name]: merged(own(nodes, name), { memory, producers }) } };
    }
  }
}

/** A limit holds against a guarantee, so that one above it is a mistake. */
function assertInOrder(job: string, { atLeast, atMost }: Policy['jobs'][string]): void {
  const [least = 0, most = Infinity] = [atLeast?.bytes, atMost?.bytes];
  if (least <= most) return;
  throw wrong(
    `at-least of ${job} would be ${givenRate(least)}, and at-most ${givenRate(most)}; set both, with at-least not above at-most`,
  );
}

/** What was there, with what is defined of the new values. */
function merged<T extends object>(before: T | undefined, values: T): T {
  return { ...before, ...definedOf(values) } as T;
}

const RATES: ReadonlySet<ValueName> = new Set(['bytesPerSecond', 'atLeast', 'atMost']);

/** What a number may be, and in words. */
const NUMBERS = {
  operationsPerSecond: ['a number above 0', (value) => value > 0],
  weight: ['a number from 0.001 to 1000', (value) => value >= 0.001 && value <= 1000],
  priority: ['a whole number from -100 to 100', (value) => Number.isInteger(value) && Math.abs(value) <= 100],
  producers: ['a whole number of at least 1', (value) => Number.isInteger(value) && value >= 1],
} as const satisfies Partial<Record<ValueName, readonly [string, (value: number) => boolean]>>;

/** Nothing may be bounded to nothing at all: what waits for it would wait for ever. */
function valueOf(field: ValueName, text: string): number {
  const flag = flagOf(field);
  if (!isNumber(field)) {
    const bytes = parseBytes(RATES.has(field) ? withoutPer(text) : text, flag);
    if (bytes > 0 || field === 'atLeast') return bytes;
    throw configError(flag, 'a size above 0, such as "150MB"', text);
  }
  const [what, isRight] = NUMBERS[field];
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (Number.isFinite(value) && isRight(value)) return value;
  throw configError(flag, what, text);
}

/** A rate as a size: people write `20MB/s` too. */
export function withoutPer(text: string): string {
  return text.replace(/\/s\s*$/, '');
}

function isNumber(field: ValueName): field is keyof typeof NUMBERS {
  return field in NUMBERS;
}

/** A field of a setting, as commands and forms call it. */
export function flagOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function wrong(what: string): TieredError {
  return new TieredError('TIERED_CONFIG_INVALID', `set: ${what}`);
}
