import { TieredError } from '@tiered/core';
import { access, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { userName } from '../user-name.js';
import { versionAbove } from '../version.js';
import type { Diagnosis } from './diagnose.js';
import type { Examined } from './examine.js';
import type { Finding } from './finding.js';
import { escaped, mapped } from './scrub.js';

/** A report to be sent to somebody: plain data, without secrets, and without names of people and hosts. */
interface Bundle {
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

/** All packages of the project, each of which may be installed or not. */
const PACKAGES = [
  ...[
    'cluster',
    'config',
    'control',
    'core',
    'formats',
    'gateway',
    'interpose',
    'loader',
    'native',
    'node-fs-adapter',
  ],
  ...['opendal-adapter', 'opentelemetry', 'prefetch', 'redis-adapter', 's3-adapter', 'sharing', 'simulator'],
  'tiering',
].map((name) => `@tiered/${name}`);

/** The versions of the packages that this one finds. */
function versionsOfPackages(): Record<string, string> {
  const versions: Record<string, string> = {};
  const own = versionAbove(import.meta.dirname);
  if (own !== undefined) versions['tiered'] = own;
  for (const name of PACKAGES) {
    const entry = entryOf(name);
    const version = entry === undefined ? undefined : versionAbove(path.dirname(entry));
    if (version !== undefined) versions[name] = version;
  }
  return versions;
}

function entryOf(name: string): string | undefined {
  try {
    return fileURLToPath(import.meta.resolve(name));
  } catch {
    return undefined;
  }
}

/** Only the owner reads it: it has no secrets, but nobody else's business is in it either. */
const MODE = 0o600;

/**
 * Writes a bundle to a new file, compressed if its name ends with `.gz`.
 * @throws TieredError `TIERED_CONFIG_INVALID` if there is such a file, or none can be made.
 */
export async function writeBundle(file: string, bundle: Bundle): Promise<void> {
  const text = `${JSON.stringify(bundle, undefined, 2)}\n`;
  const bytes = file.endsWith('.gz') ? await promisify(gzip)(text) : text;
  try {
    await writeFile(file, bytes, { flag: 'wx', mode: MODE });
  } catch (cause) {
    throw refused(file, cause as NodeJS.ErrnoException);
  }
}

/**
 * Refuses a file that is there already, before time is spent on what is to be in it.
 * @throws TieredError `TIERED_CONFIG_INVALID`
 */
export async function assertNew(file: string): Promise<void> {
  const isThere = await access(file).then(
    () => true,
    () => false,
  );
  if (isThere) throw refused(file, Object.assign(new Error(), { code: 'EEXIST' }));
}

const REASONS: Readonly<Record<string, string>> = {
  EEXIST: 'it is there already; name a new file',
  ENOENT: 'there is no such directory; make it first',
  ENOTDIR: 'a file stands where a directory must be',
  EACCES: 'access is denied',
};

function refused(file: string, cause: NodeJS.ErrnoException): TieredError {
  const reason = REASONS[cause.code ?? ''] ?? `the system says ${cause.code}`;
  return new TieredError('TIERED_CONFIG_INVALID', `--bundle: ${file} cannot be written: ${reason}.`, {
    cause,
  });
}
