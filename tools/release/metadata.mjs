/**
 * Where the project is to be found is said once, in the package.json of the repository. `npm run metadata`
 * carries it into every published package; `npm run packages` compares.
 */
import { isDeepStrictEqual } from 'node:util';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { publishedPackages, readManifest, root } from './packages.mjs';

/** What a package must say of itself. The registry shows its README with links below `directory`. */
function metadataOf(short, { repository, bugs }) {
  const page = repository.url.replace(/^git\+/, '').replace(/\.git$/, '');
  return {
    homepage: `${page}/tree/main/packages/${short}#readme`,
    bugs,
    repository: { ...repository, directory: `packages/${short}` },
  };
}

export function checkMetadata(manifest, short, rootManifest) {
  const problems = Object.entries(metadataOf(short, rootManifest))
    .filter(([field, value]) => !isDeepStrictEqual(manifest[field], value))
    .map(([field]) => `${field} is not what the root's package.json says: npm run metadata`);
  const { description = '', keywords = [] } = manifest;
  if (description === '') problems.push('has no description');
  if (keywords.length === 0) problems.push('has no keywords');
  return problems;
}

async function writeMetadata() {
  const rootManifest = await readManifest(root);
  for (const { short, directory, manifest } of await publishedPackages()) {
    const { name, version, description, keywords, ...others } = manifest;
    const metadata = metadataOf(short, rootManifest);
    // In the order that npm's documentation has: what was there keeps its place behind it.
    const written = { name, version, description, keywords, ...metadata, ...others, ...metadata };
    await writeFile(path.join(directory, 'package.json'), `${JSON.stringify(written, undefined, 2)}\n`);
  }
}

if (process.argv[1] === import.meta.filename) await writeMetadata();
