import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Returns the version in the closest package.json of a directory or above, undefined if there is none. */
export function versionAbove(directory: string): string | undefined {
  const above = path.dirname(directory);
  return versionIn(directory) ?? (above === directory ? undefined : versionAbove(above));
}

/** Versions before the first release are all this one: it tells none from another. */
const UNRELEASED = '0.0.0';

/** The version for people. Of what was not released, says so, and which commit it is where that is known. */
export function versionText(directory: string): string {
  const version = versionAbove(directory) ?? 'unknown';
  if (version !== UNRELEASED) return version;
  const commit = commitOf(directory);
  return `not released yet${commit === undefined ? '' : `, commit ${commit}`}`;
}

/** Undefined outside of a clone. */
function commitOf(directory: string): string | undefined {
  if (!existsSync(path.join(directory, '../../../../.git'))) return undefined;
  const { status, stdout } = spawnSync('git', ['rev-parse', '--short', 'HEAD'], {
    cwd: directory,
    encoding: 'utf8',
  });
  return status === 0 ? stdout.trim() : undefined;
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
