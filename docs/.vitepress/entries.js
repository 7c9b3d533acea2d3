import fs from 'node:fs';
import path from 'node:path';

const root = path.join(import.meta.dirname, '../..');

/** The published packages in the order in which a reader meets them. */
const ORDER = ['tiered', 'core', 'tiering', 'prefetch', 'sharing', 'config', 'node-fs-adapter', 's3-adapter'];

/**
 * Every published package: the directory below `packages`, its name, and its public entries, each with what a
 * program imports and the file that this is made from.
 * @type {readonly {
 *   directory: string,
 *   name: string,
 *   entries: readonly { specifier: string, file: string }[],
 * }[]}
 */
export const PACKAGES = fs
  .readdirSync(path.join(root, 'packages'))
  .map((directory) => ({
    directory,
    ...JSON.parse(fs.readFileSync(path.join(root, 'packages', directory, 'package.json'), 'utf8')),
  }))
  .filter((manifest) => !manifest.private)
  .map(({ directory, name, exports }) => ({
    directory,
    name,
    entries: Object.entries(exports)
      // A file that is exported as it is has no types; what is internal has no promises.
      .filter(([entry, target]) => typeof target !== 'string' && entry !== './internal')
      .map(([entry, target]) => ({
        specifier: path.posix.join(name, entry),
        file: path.posix.join('packages', directory, target['tiered-source']),
      })),
  }))
  .sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name));

function rank({ directory }) {
  return (ORDER.indexOf(directory) + ORDER.length + 1) % (ORDER.length + 1);
}
