/**
 * Checks the subjects of commits: `npm run commits [-- BASE]`, of those since BASE, or else since the rule
 * began. The hook calls it with `--message FILE`, for the commit that is being written.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { isFixup, mistakesIn } from './subject.js';

/** The last commit before there was a rule. */
const BEGINNING = 'dbf8bff7990483656787f496d4021e5090ff1e48';

/** @param {string[]} args */
function git(args, input = '') {
  return execFileSync('git', args, { input, encoding: 'utf8', maxBuffer: 2 ** 27 });
}

/** @param {string} commit */
function isHere(commit) {
  try {
    execFileSync('git', ['cat-file', '-e', `${commit}^{commit}`], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/**
 * The lines of all commits since one, which is named or where the rule began. A shallow clone may lack the
 * latter: all that it has is younger.
 * @param {string | undefined} base
 */
function commitsSince(base) {
  const range = base !== undefined || isHere(BEGINNING) ? `${base ?? BEGINNING}..HEAD` : 'HEAD';
  return git(['log', '--no-merges', '--format=%h %s', range]).split('\n').slice(0, -1);
}

/** @param {string | undefined} base */
function checkCommits(base) {
  const commits = commitsSince(base);
  const wrong = commits.flatMap((commit) => {
    const subject = commit.slice(commit.indexOf(' ') + 1);
    const mistakes = isFixup(subject)
      ? ['is to be melted into another (git rebase --autosquash)']
      : mistakesIn(subject);
    return mistakes.length === 0 ? [] : [`${commit}\n${asList(mistakes)}`];
  });
  if (wrong.length === 0) console.log(`Commits whose subjects were checked: ${commits.length}.`);
  else refuse(wrong.join(''));
}

/** @param {string} file */
function checkMessage(file) {
  const message = git(['stripspace', '--strip-comments'], readFileSync(file, 'utf8'));
  // As git does it: the subject is all that stands before an empty line.
  const subject = message.split('\n\n', 1)[0].trim().replaceAll('\n', ' ');
  const mistakes = subject === '' || isFixup(subject) ? [] : mistakesIn(subject);
  if (mistakes.length > 0)
    refuse(`${subject}\n${asList(mistakes)}The message is kept: git commit -eF ${file}\n`);
}

/** @param {string[]} mistakes */
function asList(mistakes) {
  return mistakes.map((mistake) => `  ${mistake}\n`).join('');
}

/** @param {string} text */
function refuse(text) {
  process.stderr.write(
    `${text}A subject is \`area: what changes\` (CONTRIBUTING.md, "Rules of the house").\n`,
  );
  process.exitCode = 1;
}

const { values, positionals } = parseArgs({
  options: { message: { type: 'string' } },
  allowPositionals: true,
});
if (values.message === undefined) checkCommits(positionals[0]);
else checkMessage(values.message);
