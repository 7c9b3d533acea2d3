/**
 * Checks what users will install: builds and packs every package, then looks into the tarballs.
 * Run with `npm run packages`; ends with exit code 1 if anything is wrong.
 */
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { LADDER } from './ladder.js';

const SCOPE = '@tiered/';
/** The directory below packages/, and the row of the ladder; `tiered` itself has no scope. */
const shortNameOf = (name) => name.replace(SCOPE, '');
const root = path.resolve(import.meta.dirname, '..');
const attw = fileURLToPath(
  new URL('dist/index.js', import.meta.resolve('@arethetypeswrong/cli/package.json')),
);
const run = promisify(execFile);

/** The siblings a package installs must be those its sources may import. */
function checkLadder(manifest) {
  const allowed = LADDER[shortNameOf(manifest.name)];
  if (allowed === undefined) return ['has no row in tools/ladder.js'];
  return Object.keys({
    ...manifest.dependencies,
    ...manifest.peerDependencies,
    ...manifest.optionalDependencies,
  })
    .filter((name) => name.startsWith(SCOPE) && !allowed.includes(shortNameOf(name)))
    .map((name) => `depends on ${name}, which tools/ladder.js does not allow`);
}

/** Everything that `exports` names is in the tarball, the sources for our own tools included. */
function checkFiles(manifest, packed) {
  const problems = ['LICENSE', 'README.md']
    .filter((file) => !packed.has(file))
    .map((file) => `${file} is not in the tarball`);
  for (const [entry, target] of Object.entries(manifest.exports)) {
    if (typeof target === 'string') {
      if (!packed.has(path.normalize(target))) problems.push(`${entry}: ${target} is not in the tarball`);
      continue;
    }
    if (target['tiered-source'] === undefined) problems.push(`${entry}: no condition tiered-source`);
    for (const [condition, file] of Object.entries(target)) {
      if (!packed.has(path.normalize(file)))
        problems.push(`${entry}: ${condition} ${file} is not in the tarball`);
    }
  }
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

async function checkPackage({ name, filename, files }, temporary) {
  const directory = path.join(root, 'packages', shortNameOf(name));
  const manifest = JSON.parse(await readFile(path.join(directory, 'package.json'), 'utf8'));
  const tarball = path.join(temporary, filename);
  const problems = await Promise.all([
    checkLadder(manifest),
    checkFiles(manifest, new Set(files.map((file) => file.path))),
    checkLicence(directory),
    checkWithPublint(tarball, manifest),
    checkWithAttw(tarball),
  ]);
  return problems.flat();
}

console.log('building ...');
const build = spawnSync('npm', ['run', 'build'], { cwd: root, encoding: 'utf8' });
if (build.status !== 0) {
  console.log(`${build.stderr}\nThe build failed; no package was checked.`);
  process.exit(1);
}

const temporary = await mkdtemp(path.join(os.tmpdir(), 'tiered-packages-'));
try {
  // Built just now: packing need not build again.
  const pack = ['pack', '--ignore-scripts', '--workspaces', '--json', '--pack-destination', temporary];
  const packages = JSON.parse(execFileSync('npm', pack, { cwd: root, encoding: 'utf8' }));
  for (const packed of packages) {
    const problems = await checkPackage(packed, temporary);
    console.log(`${problems.length === 0 ? 'ok  ' : 'FAIL'} ${packed.name}, ${packed.files.length} files`);
    for (const problem of problems) console.log(`     ${problem}`);
    if (problems.length > 0) process.exitCode = 1;
  }
} finally {
  await rm(temporary, { recursive: true });
}
