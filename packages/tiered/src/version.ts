import { readFileSync } from 'node:fs';
import path from 'node:path';

/** Returns the version in the closest package.json of a directory or above, undefined if there is none. */
export function versionAbove(directory: string): string | undefined {
  const above = path.dirname(directory);
  return versionIn(directory) ?? (above === directory ? undefined : versionAbove(above));
}

function versionIn(directory: string): string | undefined {
  let text: string;
  try {
    text = readFileSync(path.join(directory, 'package.json'), 'utf8');
  } catch {
    return undefined;
  }
  return (JSON.parse(text) as { readonly version?: string }).version;
}
