import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** Packages whose versions matter when something is wrong, where they are installed. */
const PACKAGES = [
  ...['config', 'core', 'tiering', 'prefetch', 'native', 'simulator'],
  ...['node-fs-adapter', 's3-adapter', 'opendal-adapter'],
].map((name) => `@tiered/${name}`);

/** The versions of the packages that this one finds. */
export async function versionsOfPackages(): Promise<Record<string, string>> {
  const versions: Record<string, string> = {};
  const own = await versionAbove(import.meta.dirname);
  if (own !== undefined) versions['tiered'] = own;
  for (const name of PACKAGES) {
    const entry = entryOf(name);
    const version = entry === undefined ? undefined : await versionAbove(path.dirname(entry));
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

/** The version in the closest package.json above. */
async function versionAbove(directory: string): Promise<string | undefined> {
  const file = path.join(directory, 'package.json');
  if (existsSync(file)) {
    const { version } = JSON.parse(await readFile(file, 'utf8')) as { readonly version?: string };
    if (version !== undefined) return version;
  }
  const above = path.dirname(directory);
  return above === directory ? undefined : versionAbove(above);
}
