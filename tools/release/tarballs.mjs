import { execFile } from 'node:child_process';
import { mkdir, readdir } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { readManifest } from './packages.mjs';

const run = promisify(execFile);

/**
 * Unpacks every tarball of a directory below `target`, each as `NAME/package`.
 *
 * @returns {Promise<{ tarball: string; unpacked: string; short: string; manifest: any }[]>} in the order in
 * which they can be published: nothing comes before what it depends on. `short` is the name without scope.
 */
export async function unpackTarballs(directory, target) {
  const files = (await readdir(directory)).filter((file) => file.endsWith('.tgz'));
  const all = await Promise.all(
    files.map(async (file) => {
      const tarball = path.join(directory, file);
      const to = path.join(target, path.basename(file, '.tgz'));
      await mkdir(to, { recursive: true });
      await run('tar', ['-xzf', tarball, '-C', to]);
      const unpacked = path.join(to, 'package');
      const manifest = await readManifest(unpacked);
      return { tarball, unpacked, manifest, short: manifest.name.replace('@tiered/', '') };
    }),
  );
  return inOrder(all);
}

/** Siblings come after those that they depend on. */
function inOrder(packages) {
  const byName = new Map(packages.map((one) => [one.manifest.name, one]));
  const ordered = new Set();
  const add = (one) => {
    const { dependencies, optionalDependencies } = one.manifest;
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const needed = byName.get(name);
      if (needed !== undefined && !ordered.has(needed)) add(needed);
    }
    ordered.add(one);
  };
  packages.forEach(add);
  return [...ordered];
}
