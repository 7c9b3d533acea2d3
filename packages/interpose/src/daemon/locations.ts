import { TieredError, type HierarchyOptions, type StorageDriver } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import fs from 'node:fs';
import path from 'node:path';
import type { TableOptions } from '../table/writer.js';
import { mountsBelow } from './root-watch.js';
import { inodeOf } from './source-files.js';

const FILE = 'file://';

/**
 * The directory of a driver, as its path; its real path once the driver is open. Undefined for drivers that
 * have none.
 */
export function directoryOf({ location }: StorageDriver): string | undefined {
  return location?.startsWith(FILE) === true
    ? location.slice(FILE.length).replace(/(?<=.)\/$/, '')
    : undefined;
}

/** A path below which programs find what they find nowhere else. */
function assertImaginary(root: string): void {
  if (path.resolve(root) !== root || root === '/')
    throw configError('root', 'an absolute path without a slash at its end', root);
  const there = fs.statSync(root, { throwIfNoEntry: false });
  if (there !== undefined && (!there.isDirectory() || fs.readdirSync(root).length > 0))
    throw configError('root', 'a path at which there is nothing, or an empty directory', root);
}

/**
 * Refuses hierarchies whose copies programs cannot open.
 * @throws TieredError `TIERED_CONFIG_INVALID`
 */
export function assertOpenable(
  { source, tiers = [], scan = source.capabilities.list }: HierarchyOptions,
  root: string | undefined,
  aliases: readonly string[] = [],
): void {
  if (!scan)
    throw configError('scan', 'true, because programs get copies only of objects that are known', scan);
  if (root !== undefined && aliases.length > 0)
    throw configError('aliases', 'nothing together with root, below which alone objects are found', aliases);
  if (root !== undefined) assertImaginary(root);
  else if (directoryOf(source) === undefined)
    throw new TieredError(
      'TIERED_CONFIG_INVALID',
      `The source, ${source.name}, is no directory: add the path below which programs find its objects, --root /some/path ` +
        '(in code: root).',
    );
  if (tiers.length === 0) throw configError('tiers', 'at least one, from which programs read', []);
  for (const [level, { driver, layout }] of tiers.entries()) {
    if (directoryOf(driver) === undefined)
      throw configError(
        `tiers[${level}].driver`,
        'a directory, because programs open the copies in it; /dev/shm is one in memory',
        driver.name,
      );
    // Without an index, a tier is kept as a bucket: behind the bytes of each copy stands what is known of it.
    if (!driver.capabilities.index)
      throw configError(
        `tiers[${level}].driver`,
        'a directory of its own with the index of the tier (driver "fs", writable, without a prefix), because only there programs can open the copies as files',
        driver.name,
      );
    if (layout === 'packed')
      throw configError(
        `tiers[${level}].layout`,
        '"files", because programs cannot open a copy that shares its file with others',
        layout,
      );
  }
}

/** The paths of an open source, as the table has them. */
export function realRoots(
  { source }: HierarchyOptions,
  aliases: readonly (string | undefined)[],
): Pick<TableOptions, 'roots' | 'rootFile'> {
  const root = directoryOf(source) ?? '';
  const { dev, ino } = fs.statSync(root, { bigint: true });
  const roots = [root];
  for (const alias of aliases) {
    const known = alias === undefined ? root : path.resolve(alias);
    if (roots.includes(known)) continue;
    const { dev: device, ino: inode } = fs.statSync(known, { bigint: true });
    if (device !== dev || inode !== ino) throw configError('aliases', `paths of the source, ${root}`, known);
    roots.push(known);
  }
  return { roots, rootFile: { device: dev, inode: inodeOf(ino), mounts: mountsBelow(root) } };
}
