import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The versions of glibc that a library needs, as `readelf --version-info` writes them. */
function glibcVersionsIn(text) {
  return [...new Set(Array.from(text.matchAll(/Name: GLIBC_([\d.]+)/g), ([, version]) => version))];
}

/** Whether a version like `2.4` is newer than one like `2.28`. */
function isNewer(version, than) {
  const [own, others] = [version, than].map((text) => text.split('.').map(Number));
  for (let i = 0; i < Math.max(own.length, others.length); i++) {
    const difference = (own[i] ?? 0) - (others[i] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return false;
}

/**
 * A library that needs a newer glibc would not be loaded, and not say so before it is on a user's machine.
 * @throws if it needs one, or none at all, which means that this was not looked at.
 */
export async function assertGlibc(file, newest) {
  // Unlike objdump, it reads files for other processors.
  const { stdout } = await run('readelf', ['--version-info', '--wide', file]);
  const needed = glibcVersionsIn(stdout);
  const wrong = needed.filter((version) => isNewer(version, newest));
  if (needed.length === 0) throw new Error(`${file} does not say which versions of glibc it needs.`);
  if (wrong.length > 0)
    throw new Error(`${file} needs glibc ${wrong.join(', ')}, which is newer than ${newest}.`);
}
