import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { platform } from '../c/compile.js';
import { root } from './packages.mjs';

const run = promisify(execFile);

/** What the README tells readers to have beside the packages. */
const TOOLS = ['typescript', 'typescript-7', 'tsx', '@types/node'];

/**
 * Does what a new user does in the first minutes, with the packages as they are packed: an empty directory
 * with what `npm init` writes, the programs of the README of `tiered` and of the quick start as they are
 * pasted, the compiler, and the command. Needs no network: what the packages install of others is that of
 * this repository, and only what their manifests name.
 *
 * @param {{ unpacked: string; short: string; manifest: any }[]} packages
 * @param {string} directory where the project is made
 * @returns {Promise<string[]>} what went wrong
 */
export async function tryFirstMinutes(packages, directory) {
  await makeProject(packages, directory);
  const readme = await readFile(path.join(root, 'packages/tiered/README.md'), 'utf8');
  await writeFile(path.join(directory, 'train.mjs'), firstBlock(readme, 'js'));
  await writeFile(path.join(directory, 'train.mts'), firstBlock(readme, 'ts'));
  const quickStart = await quickStartAt(path.join(directory, 'quick-start'));
  const [, init] = /^npx tsc (--init .*)$/m.exec(readme) ?? [];
  const modules = path.join(directory, 'node_modules');
  const isCompiled = (name) => packages.some(({ short }) => short === `${name}-${platform()}`);
  const steps = [
    ['train.mjs', ['train.mjs'], FILLED],
    ['tsx train.mts', ['--import', 'tsx', 'train.mts'], FILLED],
    ['the quick start', ['--import', 'tsx', quickStart], FILLED],
    ...['typescript', 'typescript-7'].flatMap((compiler) => {
      const tsc = path.join(modules, compiler, 'bin/tsc');
      return [
        [`tsc ${init} (${compiler})`, [tsc, ...init.split(' ')], /Created a new tsconfig/],
        [`tsc (${compiler})`, [tsc, '--noEmit', '--skipLibCheck', 'false'], /^$/],
      ];
    }),
    ['imports of every entry', ['--input-type=module', '-e', importsOf(packages)], /^$/],
    ['tiered --help', [path.join(modules, 'tiered/bin/tiered.js'), '--help'], /^Usage: tiered/],
    [
      'the native part',
      ['--input-type=module', '-e', NATIVE],
      isCompiled('native') ? /^loaded/ : /^not loaded/,
    ],
    ...(isCompiled('interpose')
      ? [['tiered run', [path.join(modules, 'tiered/bin/tiered.js'), ...RUN], SHIM]]
      : []),
  ];
  const problems = [];
  for (const [title, args, expected] of steps) {
    if (title.includes('--init')) await rm(path.join(directory, 'tsconfig.json'), { force: true });
    const problem = await problemOf(args, expected, directory);
    if (problem !== undefined) problems.push(`${title}: ${problem}`);
  }
  return problems;
}

/** Of the report: the disk tier took something, or has it from the program before. */
const FILLED = /^tier 1, fs:.*: holds (?!0 B)/m;
const NATIVE = `
import { native } from '@tiered/native';
console.log(native().available ? 'loaded' : 'not loaded');`;
/** The program says which shim it runs under: the one that was packed. */
const RUN = [
  'run',
  '--quiet',
  '--config',
  'run.json',
  '--',
  'sh',
  '-c',
  'cat data/a; echo; echo "$LD_PRELOAD"',
];
const SHIM = /^a{1000}\n.*\/project\/node_modules\/@tiered\/interpose-[^/]+\/tiered-shim\.so\n$/;
const RUN_CONFIG = {
  source: { driver: 'fs', root: 'data' },
  tiers: [{ driver: 'fs', root: 'run-tier', quota: '1MiB' }],
};

/** What its dependencies do not bring, and what it has not packed, no entry can import. */
function importsOf(packages) {
  const entries = packages.flatMap(({ manifest: { name, exports = {} } }) =>
    Object.entries(exports)
      .filter(([, target]) => typeof target !== 'string')
      .map(([entry]) => `import '${path.posix.join(name, entry)}';`),
  );
  return entries.join('\n');
}

async function makeProject(packages, directory) {
  const modules = path.join(directory, 'node_modules');
  await mkdir(path.join(directory, 'data'), { recursive: true });
  await Promise.all(
    ['a', 'b', 'c'].map((key) => writeFile(path.join(directory, 'data', key), key.repeat(1000))),
  );
  await writeFile(path.join(directory, 'package.json'), JSON.stringify({ type: 'commonjs' }));
  await writeFile(path.join(directory, 'run.json'), JSON.stringify(RUN_CONFIG));
  for (const { unpacked, short, manifest } of packages) {
    const to = path.join(modules, manifest.name);
    await cp(unpacked, to, { recursive: true });
    const needed = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
    const others = needed.filter((name) => !isOurs(name, packages));
    for (const name of others) await link(name, path.join(to, 'node_modules'), `packages/${short}`);
  }
  for (const name of TOOLS) await link(name, modules, '.');
}

const isOurs = (name, packages) => packages.some(({ manifest }) => manifest.name === name);

/** As npm has installed it for a package of this repository: beside it, or at the root. */
async function link(name, modules, owner) {
  const below = path.join('node_modules', name);
  const beside = await realpath(path.join(root, owner, below)).catch(() => undefined);
  await mkdir(path.dirname(path.join(modules, name)), { recursive: true });
  await symlink(beside ?? (await realpath(path.join(root, below))), path.join(modules, name));
}

/** Saves the program of the quick start under the name that it is given there; returns its path. */
async function quickStartAt(directory) {
  const text = await readFile(path.join(root, 'docs/quick-start.md'), 'utf8');
  const [, name] = /Save it as `([^`]+)`/.exec(text) ?? [];
  if (name === undefined) throw new Error('The quick start does not say how its program is to be named.');
  await mkdir(directory);
  await writeFile(path.join(directory, name), firstBlock(text, 'ts'));
  return path.join(directory, name);
}

function firstBlock(markdown, language) {
  const [, text] = new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'm').exec(markdown) ?? [];
  if (text === undefined) throw new Error(`The document has no program in ${language}.`);
  return text;
}

async function problemOf(args, expected, cwd) {
  try {
    const { stdout, stderr } = await run(process.execPath, args, { cwd });
    if (stderr !== '') return `warns: ${stderr}`;
    return expected.test(stdout) ? undefined : `unexpected output: ${stdout}`;
  } catch (error) {
    return `${error.stdout}${error.stderr}`;
  }
}
