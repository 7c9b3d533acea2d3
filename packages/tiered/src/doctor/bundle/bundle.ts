import os from 'node:os';
import type { Diagnosis } from '../diagnose.js';
import type { Examined } from '../examine.js';
import type { Finding } from '../finding.js';
import { escaped, mapped } from '../scrub.js';
import { versionsOfPackages } from './versions.js';

/** A report to be sent to somebody: plain data, without secrets, and without names of people and hosts. */
export interface Bundle {
  /** The version of this form. */
  readonly bundle: 1;
  readonly versions: Readonly<Record<string, string>>;
  readonly machine: Readonly<Record<string, unknown>>;
  readonly findings: readonly Finding[];
  /** As it is written, with `removed` for all that may be a secret. */
  readonly configuration: unknown;
  /** Names of variables that the configuration takes from the environment. */
  readonly variables: readonly string[];
  readonly levels: readonly Readonly<Record<string, unknown>>[];
}

/** Puts together what a diagnosis found. */
export async function bundleOf({
  findings,
  machine,
  written,
  examined,
  scrubber,
}: Diagnosis): Promise<Bundle> {
  const { node, ...rest } = machine;
  const bundle: Bundle = {
    bundle: 1,
    versions: { node, ...versionsOfPackages() },
    machine: rest,
    findings,
    configuration: written?.shown,
    variables: [...new Set(written?.variables.map(({ name }) => name))],
    levels: examined.map(levelOf),
  };
  return withoutPeople(scrubber.all(bundle));
}

function levelOf({ level, directory, skew }: Examined): Readonly<Record<string, unknown>> {
  const { name, driver, quotaBytes } = level;
  const known = { name, capabilities: driver.capabilities, quotaBytes, skew };
  if (directory === undefined || 'error' in directory) return known;
  const { mount, ...facts } = directory;
  // A mount point may be a part of a path that is not to be shown.
  return { ...known, ...facts, mount: mount && { type: mount.type, options: mount.options } };
}

/** Names of machines that many have say nothing. */
const NO_NAME = 'localhost';

/** Removes the names of the user and the machine, and shortens the home directory. */
function withoutPeople<T>(value: T): T {
  const names = [
    [os.homedir(), '~', '', '(?![\\w-])'],
    [userName(), '<user>', '(?<=/)', '(?=/|$)'],
    [os.hostname(), '<host>', '(?<![\\w-])', '(?![\\w-])'],
  ] as const;
  const known = names.flatMap(([name = '', by, before, after]) =>
    name.length < 2 || name === NO_NAME
      ? []
      : [{ pattern: new RegExp(before + escaped(name) + after, 'g'), by }],
  );
  return mapped(value, (text) =>
    known.reduce((left, { pattern, by }) => left.replace(pattern, () => by), text),
  ) as T;
}

/** Undefined for a user that the system has no name for, as in some containers. */
function userName(): string | undefined {
  try {
    return os.userInfo().username;
  } catch {
    return undefined;
  }
}
