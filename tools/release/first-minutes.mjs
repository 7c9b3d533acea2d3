import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { platform } from '../../packages/native/src-c/compile.js';
import { root } from './packages.mjs';

const run = promisify(execFile);

/** What the README tells readers to have beside the packages. */
const TOOLS = ['typescript', 'typescript-7', 'tsx', '@types/node'];

/**
 * Does what a new user does in the first minutes, with the packages as they are packed: an empty directory
 * with what `npm init` writes, the programs of the README of `tiered` as they are pasted, the compiler, and
 * the command. Needs no network: what the packages install of others is that of this repository, and only
 * what their manifests name.
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
  const [, init] = /^npx tsc (--init .*)$/m.exec(readme) ?? [];
  const modules = path.join(directory, 'node_modules');
  const addon = packages.some(({ short }) => short === `native-${platform()}`);
  const steps = [
    ['train.mjs', ['train.mjs'], /^tier 1, /m],
    ['tsx train.mts', ['--import', 'tsx', 'train.mts'], /^tier 1, /m],
    ...['typescript', 'typescript-7'].flatMap((compiler) => [
      [
        `tsc ${init} (${compiler})`,
        [path.join(modules, compiler, 'bin/tsc'), ...init.split(' ')],
        /tsconfig/,
      ],
      [
        `tsc (${compiler})`,
        [path.join(modules, compiler, 'bin/tsc'), '--noEmit', '--skipLibCheck', 'false'],
        /^$/,
      ],
    ]),
    ['tiered --help', [path.join(modules, 'tiered/bin/tiered.js'), '--help'], /^Usage: tiered/],
    ['the native part', ['-p', NATIVE], addon ? /^loaded/ : /^not loaded/],
  ];
  const problems = [];
  for (const [title, args, expected] of steps) {
    const problem = await problemOf(args, expected, directory);
    if (problem !== undefined) problems.push(`${title}: ${problem}`);
  }
  return problems;
}

const NATIVE = `require('@tiered/native').native().available ? 'loaded' : 'not loaded'`;

async function makeProject(packages, directory) {
  const modules = path.join(directory, 'node_modules');
  await mkdir(path.join(directory, 'data'), { recursive: true });
  await Promise.all(
    ['a', 'b', 'c'].map((key) => writeFile(path.join(directory, 'data', key), key.repeat(1000))),
  );
  await writeFile(path.join(directory, 'package.json'), JSON.stringify({ type: 'commonjs' }));
  for (const { unpacked, short, manifest } of packages) {
    const to = path.join(modules, manifest.name);
    await cp(unpacked, to, { recursive: true });
    const others = Object.keys(manifest.dependencies ?? {}).filter((name) => !isOurs(name, packages));
    for (const name of others) await link(name, path.join(to, 'node_modules'), `packages/${short}`);
  }
  for (const name of TOOLS) await link(name, modules, '.');
}

const isOurs = (name, packages) => packages.some(({ manifest }) => manifest.name === name);

/** As npm has installed it for a package of this repository: beside it, or at the root. */
async function link(name, modules, owner) {
  const beside = path.join(root, owner, 'node_modules', name);
  const found = (await stat(beside).catch(() => undefined)) !== undefined;
  await mkdir(path.dirname(path.join(modules, name)), { recursive: true });
  await symlink(found ? beside : path.join(root, 'node_modules', name), path.join(modules, name));
}

function firstBlock(markdown, language) {
  const [, text] = new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'm').exec(markdown) ?? [];
  if (text === undefined) throw new Error(`The README of tiered has no program in ${language}.`);
  return text;
}

async function problemOf(args, expected, cwd) {
  try {
    const { stdout } = await run(process.execPath, args, { cwd });
    return expected.test(stdout) ? undefined : `unexpected output: ${stdout}`;
  } catch (error) {
    return `${error.stdout}${error.stderr}`;
  }
}
