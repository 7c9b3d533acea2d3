// @ts-check
import fs from 'node:fs';
import path from 'node:path';

const GROUP_WRITES = 0o020;
const OTHERS_WRITE = 0o002;
const OTHERS = 0o077;

/**
 * Makes an empty file where there is none, for its owner alone, and the directories that it is in. Refuses a
 * file that others could read or change, or put another one in the place of.
 *
 * @param {string} file
 */
export function prepareFile(file) {
  const directory = path.dirname(file);
  fs.mkdirSync(directory, { recursive: true, mode: 0o700 });
  // Of links, it matters whose that is to which they lead.
  const around = fs.statSync(directory);
  // A group with the number of its user is that user's own. Most Linux distributions make such groups.
  const groupWrites = around.gid === around.uid ? 0 : GROUP_WRITES;
  refuseForeign(directory, around, OTHERS_WRITE | groupWrites, 'chmod go-w');
  try {
    fs.closeSync(fs.openSync(file, 'wx+', 0o600));
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error;
  }
  const stat = fs.lstatSync(file);
  if (!stat.isFile()) throw refused(`${file} is not a file; name one that is or will be`);
  refuseForeign(file, stat, OTHERS, 'chmod 600');
}

/**
 * @param {string} place
 * @param {fs.Stats} stat
 * @param {number} bits What nobody else may have.
 * @param {string} command
 */
function refuseForeign(place, stat, bits, command) {
  const user = process.geteuid?.();
  // Where files have no owners (Windows), they have no modes either.
  if (user === undefined) return;
  if (stat.uid !== user) throw refused(`${place} belongs to user ${stat.uid}; choose a place of your own`);
  if ((stat.mode & bits) !== 0) throw refused(`others may change or read ${place}: ${command} '${place}'`);
}

/** @param {string} message */
function refused(message) {
  return Object.assign(new Error(message), { code: 'TIERED_PERMISSION' });
}
