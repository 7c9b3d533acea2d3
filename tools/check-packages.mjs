/**
 * Checks what users will install, tarball by tarball: `npm run packages`. It builds and packs everything
 * first, or takes the tarballs of a directory that `npm run pack` made: `npm run packages -- DIRECTORY`. Ends
 * with exit code 1 if anything is wrong.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { LADDER } from './ladder.js';
import { tryFirstMinutes } from './release/first-minutes.mjs';
import { checkMetadata } from './release/metadata.mjs';
import { packAll } from './release/pack.mjs';
import { publishedPackages, readManifest, root } from './release/packages.mjs';
import { PLATFORM_PACKAGES } from './release/platforms.mjs';
import { checkLock, checkRanges, checkSiblings, checkTools } from './release/ranges.mjs';
import { unpackTarballs } from './release/tarballs.mjs';

const SCOPE = '@tiered/';
const isPlatform = (name) => PLATFORM_PACKAGES.includes(name);
const attw = fileURLToPath(
  new URL('dist/index.js', import.meta.resolve('@arethetypeswrong/cli/package.json')),
);
const run = promisify(execFile);

/** The siblings a package installs must be those its sources may import. */
function checkLadder({ dependencies, peerDependencies, optionalDependencies }, short) {
  const allowed = LADDER[short];
  if (allowed === undefined) return ['has no row in tools/ladder.js'];
  return Object.keys({ ...dependencies, ...peerDependencies, ...optionalDependencies })
    .map((name) => [name, name.replace(SCOPE, '')])
    .filter(([name]) => name.startsWith(SCOPE) && !isPlatform(name))
    .filter(([, sibling]) => !allowed.includes(sibling))
    .map(([name]) => `depends on ${name}, which tools/ladder.js does not allow`);
}

/** What the manifest names is there, and nothing that is of use only in this repository. */
function checkContents(manifest, files) {
  const problems = ['LICENSE', 'README.md']
    .filter((file) => !files.has(file))
    .map((file) => `${file} is not in the tarball`);
  for (const [entry, target] of Object.entries(manifest.exports)) {
    const targets = typeof target === 'string' ? { default: target } : target;
    for (const [condition, file] of Object.entries(targets)) {
      if (!files.has(path.normalize(file))) problems.push(`${entry}: ${file} is not in the tarball`);
      if (!['types', 'default'].includes(condition))
        problems.push(`${entry}: has the condition ${condition}`);
    }
  }
  const ours = [...files].filter((file) => /^(test|src-c)\/|^src\/.*\.ts$/.test(file));
  problems.push(...ours.map((file) => `${file} is of no use to users`));
  if (manifest.scripts !== undefined) problems.push('has scripts, which only this repository can run');
  return problems;
}

async function checkLicence(directory) {
  const [own, common] = await Promise.all([
    readFile(path.join(directory, 'LICENSE'), 'utf8').catch(() => ''),
    readFile(path.join(root, 'LICENSE'), 'utf8'),
  ]);
  return own === common ? [] : ['LICENSE is not a copy of the one at the root'];
}

async function checkWithPublint(tarball, manifest) {
  const { buffer, byteOffset, byteLength } = await readFile(tarball);
  const { messages } = await publint({
    pack: { tarball: buffer.slice(byteOffset, byteOffset + byteLength) },
    strict: true,
  });
  return messages.map((message) => `publint: ${formatMessage(message, manifest, { color: false })}`);
}

async function checkWithAttw(tarball) {
  const options = ['--profile', 'esm-only', '--no-definitely-typed', '--no-color', '--format', 'ascii'];
  try {
    await run(process.execPath, [attw, ...options, tarball]);
    return [];
  } catch (error) {
    return [`are the types wrong:\n${error.stdout}${error.stderr}`];
  }
}

async function filesBelow(directory) {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return new Set(files.map(({ parentPath, name }) => path.relative(directory, path.join(parentPath, name))));
}

async function checkPackage({ tarball, unpacked, short, manifest }, { versions, rootManifest }) {
  const files = await filesBelow(unpacked);
  if (isPlatform(manifest.name)) {
    const needed = ['LICENSE', 'README.md', ...manifest.files];
    const missing = needed.filter((file) => !files.has(file)).map((file) => `${file} is not in the tarball`);
    return [...missing, ...(await checkLicence(unpacked))];
  }
  const problems = await Promise.all([
    checkMetadata(manifest, short, rootManifest),
    checkRanges(manifest),
    checkSiblings(manifest, versions),
    checkLadder(manifest, short),
    checkContents(manifest, files),
    checkLicence(unpacked),
    checkWithPublint(tarball, manifest),
    checkWithAttw(tarball),
  ]);
  return problems.flat();
}

/** What concerns no tarball by itself. */
async function checkRepository(packages, { versions, rootManifest }) {
  const published = await publishedPackages();
  const packed = new Set(packages.map(({ manifest }) => manifest.name));
  return [
    ...published
      .map(({ manifest }) => manifest.name)
      .filter((name) => !packed.has(name))
      .map((name) => `${name} was not packed`),
    ...(new Set(versions.values()).size > 1
      ? ['the packages have several versions, and are released as one']
      : []),
    ...[rootManifest, ...published.map(({ manifest }) => manifest)].flatMap(checkTools),
    ...checkLock(JSON.parse(await readFile(path.join(root, 'package-lock.json'), 'utf8'))),
  ];
}

function report(title, problems) {
  console.log(`${problems.length === 0 ? 'ok  ' : 'FAIL'} ${title}`);
  for (const problem of problems) console.log(`     ${problem}`);
  if (problems.length > 0) process.exitCode = 1;
}

const temporary = await mkdtemp(path.join(os.tmpdir(), 'tiered-packages-'));
try {
  const directory = path.resolve(process.argv[2] ?? path.join(temporary, 'tarballs'));
  if (process.argv[2] === undefined) await packAll(directory);
  const packages = await unpackTarballs(directory, path.join(temporary, 'unpacked'));
  const versions = new Map(packages.map(({ manifest }) => [manifest.name, manifest.version]));
  const known = { versions, rootManifest: await readManifest(root) };
  for (const one of packages) report(one.manifest.name, await checkPackage(one, known));
  report('the repository', await checkRepository(packages, known));
  report('the first minutes', await tryFirstMinutes(packages, path.join(temporary, 'project')));
} finally {
  await rm(temporary, { recursive: true });
}
