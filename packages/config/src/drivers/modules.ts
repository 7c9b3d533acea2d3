import type { DriverFactory } from '@tiered/core/driver';
import type { ModelFactory, PlacementFactory } from '@tiered/core/placement';
import { HOME_PATH, isHomePath } from '@tiered/core/internal';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { nearest } from '../check/unknown-keys.js';
import { driverFactory as memoryFactory } from './memory.js';

/** Short names of drivers other than `memory`, with their modules. */
const DRIVERS: ReadonlyMap<string, string> = new Map([
  ['fs', '@tiered/node-fs-adapter/config'],
  ['s3', '@tiered/s3-adapter/config'],
  ['opendal', '@tiered/opendal-adapter/config'],
  ['redis', '@tiered/redis-adapter/config'],
]);

/** The drivers that have a short name. */
export const driverNames: readonly string[] = ['memory', ...DRIVERS.keys()];

/** A factory, or the problem of its name. */
export type Loaded<Factory> =
  | { readonly factory: Factory; readonly problem?: undefined; readonly cause?: undefined }
  | { readonly factory?: undefined; readonly problem: string; readonly cause?: unknown };

/** Loads the factory of the driver that a configuration names. */
export async function loadDriver(name: string, baseDirectory: string): Promise<Loaded<DriverFactory>> {
  if (name === 'memory') return { factory: memoryFactory };
  return load(DRIVERS.get(name) ?? name, 'driverFactory', ['schema', 'create'], baseDirectory);
}

/** Loads the factory of the placement. */
export function loadPlacement(baseDirectory: string): Promise<Loaded<PlacementFactory>> {
  return load('@tiered/tiering/config', 'placementFactory', ['schema', 'create'], baseDirectory);
}

/** Loads the factory of the model. */
export function loadModel(baseDirectory: string): Promise<Loaded<ModelFactory>> {
  return load('@tiered/simulator/config', 'modelFactory', ['create'], baseDirectory);
}

/** The members that a factory must have. */
type Member = 'schema' | 'create';

async function load<Factory extends object>(
  specifier: string,
  exported: string,
  members: readonly Member[],
  baseDirectory: string,
): Promise<Loaded<Factory>> {
  if (isHomePath(specifier)) return { problem: `expected ${HOME_PATH}` };
  const isPath = /^\.{0,2}[/\\]/.test(specifier) || path.isAbsolute(specifier);
  if (!isPath && specifier.includes(':')) {
    return {
      problem: `expected ${driverNames.join(', ')}, the name of a package, or a path that begins with ./`,
    };
  }
  try {
    const url = isPath
      ? pathToFileURL(path.resolve(baseDirectory, specifier)).href
      : urlOfPackage(specifier, baseDirectory);
    if (url === undefined) return { problem: notInstalled(specifier) };
    // The only import of modules that are not known beforehand. Drivers and the placement are packages that
    // depend on this one.
    const module = (await import(url)) as Readonly<Record<string, unknown>>;
    const factory = module[exported];
    if (members.every((member) => has(factory, member))) return { factory: factory as Factory };
    return {
      problem: `${specifier} exports no ${exported} with ${members.join(' and ')}; files cannot use it`,
    };
  } catch (cause) {
    const [reason = ''] = String(cause).split('\n');
    return { problem: `${specifier} cannot be loaded: ${reason.replace(/ imported from .*/, '')}`, cause };
  }
}

/**
 * Resolves a package from the directory of the file, or else from this package. Undefined if neither finds
 * it.
 */
function urlOfPackage(specifier: string, baseDirectory: string): string | undefined {
  try {
    return pathToFileURL(createRequire(path.join(baseDirectory, 'tiers.yaml')).resolve(specifier)).href;
  } catch {
    try {
      return import.meta.resolve(specifier);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return undefined;
      throw error;
    }
  }
}

/** Common names of storage that a built-in driver serves. Names of OpenDAL services stand for themselves. */
const MEANT: ReadonlyMap<string, string> = new Map([
  ...['ram', 'mem'].map((name) => [name, 'memory'] as const),
  ...['file', 'files', 'disk', 'dir', 'directory', 'local', 'posix', 'nfs', 'ssd', 'nvme'].map(
    (name) => [name, 'fs'] as const,
  ),
  ...['aws', 's3a', 's3n', 'minio', 'r2', 'ceph', 'rgw', 'swift'].map((name) => [name, 's3'] as const),
  ...['valkey', 'elasticache', 'memorydb', 'keydb'].map((name) => [name, 'redis'] as const),
  ...['gs', 'gcp', 'google'].map((name) => [name, 'opendal, with service: gcs'] as const),
  ...['azure', 'abfs', 'abfss', 'wasb'].map((name) => [name, 'opendal, with service: azblob'] as const),
  ...['hdfs'].map((name) => [name, 'opendal, with service: webhdfs'] as const),
  ...[
    'gcs',
    'azblob',
    'azdls',
    'azfile',
    'webhdfs',
    'webdav',
    'http',
    'ftp',
    'sftp',
    'oss',
    'obs',
    'cos',
    'b2',
    'gdrive',
    'dropbox',
  ].map((name) => [name, `opendal, with service: ${name}`] as const),
]);

/**
 * Says that a package is not installed. Only this project's packages are recommended for installation:
 * harmful code may have been published under a mistyped name.
 */
function notInstalled(specifier: string): string {
  const name = specifier.toLowerCase();
  // Every name is close to a name of two letters. So one is suggested only for two letters, of which one is
  // in its place.
  const near = driverNames.filter(
    (known) => known.length > 2 || (name.length === 2 && [...known].some((letter, i) => letter === name[i])),
  );
  const meant = driverNames.includes(name) ? name : (MEANT.get(name) ?? nearest(name, near));
  if (meant !== undefined) return `there is no driver ${specifier}; did you mean ${meant}?`;
  const [packageName = specifier] = /^(@[^/]+\/)?[^/]+/.exec(specifier) ?? [];
  if (packageName.startsWith('@tiered/'))
    return `the package ${packageName} is not installed; npm install ${packageName}`;
  return `there is no driver ${specifier}: none is built in (${driverNames.join(', ')}), and no package ${packageName} is installed here`;
}

function has(value: unknown, member: Member): boolean {
  const { schema, create } = (value ?? {}) as Partial<DriverFactory>;
  return member === 'create'
    ? typeof create === 'function'
    : typeof schema?.['~standard']?.validate === 'function';
}
