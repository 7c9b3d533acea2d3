/**
 * Puts the hook that checks subjects into this clone; `npm ci` runs it. Libraries for hooks write over those
 * that are there, or put them out of force. This leaves every other hook alone, and directories that several
 * repositories share. It does nothing in CI, and nothing where the sources are no clone. It never fails.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const root = path.join(import.meta.dirname, '../..');
const hook = readFileSync(path.join(import.meta.dirname, 'commit-msg'), 'utf8');

/** What git says; undefined if it fails, or there is none. */
function git(...args) {
  try {
    return execFileSync('git', args, {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return undefined;
  }
}

/** @returns {string | undefined} why there is no hook, if somebody should know. */
function install() {
  // In another repository, as a part of it, the prefix is not empty.
  if (git('rev-parse', '--show-prefix') !== '') return undefined;
  if (git('config', 'core.hooksPath') !== undefined) return 'core.hooksPath is set';
  const file = path.resolve(root, git('rev-parse', '--git-path', 'hooks/commit-msg') ?? '');
  if (readIfThere(file)?.includes('tools/commits/check.js') === true) return undefined;
  try {
    mkdirSync(path.dirname(file), { recursive: true });
    // `wx` writes over no file, and through no link either.
    writeFileSync(file, hook, { mode: 0o755, flag: 'wx' });
    return undefined;
  } catch (error) {
    return error.code === 'EEXIST' ? 'there is another one' : error.message;
  }
}

function readIfThere(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

const inCi = !['', 'false', '0'].includes(process.env.CI ?? '');
const reason = inCi ? undefined : install();
if (reason !== undefined) {
  console.log(`No hook commit-msg that checks subjects was installed, because ${reason}.`);
  console.log('To have your own check them: node tools/commits/check.js --message "$1"');
}
