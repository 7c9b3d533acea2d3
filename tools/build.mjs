/**
 * Builds what is published, in `dist` of each package: `npm run build`. tsup bundles the JavaScript of each
 * entry; the compiler writes the declarations, a file for each of the sources. What is written in C is
 * compiled where there is a compiler.
 */
import { execFile } from 'node:child_process';
import { cp, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const root = path.resolve(import.meta.dirname, '..');
const run = promisify(execFile);

const STEPS = [
  ['what is written in C', ['packages/native/src-c/build.js'], ['packages/interpose/src-c/build.js']],
  ['JavaScript', ['node_modules/tsup/dist/cli-default.js']],
  // TypeScript 7 declares everything in the time that version 5 needs for one package.
  ['declarations', ['node_modules/typescript-7/bin/tsc', '--project', 'tsconfig.build.json']],
];
const declarations = path.join(root, 'node_modules/.cache/declarations');

/** @throws what the first command that failed has printed. */
async function build() {
  await rm(declarations, { recursive: true, force: true });
  for (const [title, ...commands] of STEPS) {
    console.log(`building ${title}`);
    for (const command of commands) await node(command);
  }
  for (const short of await readdir(declarations)) {
    await cp(path.join(declarations, short, 'src'), path.join(root, 'packages', short, 'dist'), {
      recursive: true,
    });
  }
}

async function node(args) {
  try {
    const { stdout, stderr } = await run(process.execPath, args, { cwd: root });
    process.stdout.write(stdout + stderr);
  } catch (error) {
    throw new Error(`node ${args.join(' ')} failed:\n${error.stdout}${error.stderr}`, { cause: error });
  }
}

await build();
