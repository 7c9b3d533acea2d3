import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';

export const root = path.resolve(import.meta.dirname, '../..');

export async function readManifest(directory) {
  return JSON.parse(await readFile(path.join(directory, 'package.json'), 'utf8'));
}

/** Every package that is published: where it is below packages/, and its manifest as it is there. */
export async function publishedPackages() {
  const names = (await readdir(path.join(root, 'packages'))).sort();
  const all = await Promise.all(
    names.map(async (short) => {
      const directory = path.join(root, 'packages', short);
      return { short, directory, manifest: await readManifest(directory) };
    }),
  );
  return all.filter(({ manifest }) => manifest.private !== true);
}
