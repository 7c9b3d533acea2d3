import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { versionAbove } from '../../version.js';

/** Packages whose versions matter when something is wrong, where they are installed. */
const PACKAGES = [
  ...['config', 'core', 'tiering', 'prefetch', 'native', 'simulator'],
  ...['node-fs-adapter', 's3-adapter', 'opendal-adapter'],
].map((name) => `@tiered/${name}`);

/** The versions of the packages that this one finds. */
export function versionsOfPackages(): Record<string, string> {
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
