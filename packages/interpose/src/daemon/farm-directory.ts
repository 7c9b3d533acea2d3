import { configError } from '@tiered/core/internal';
import fs from 'node:fs';
import path from 'node:path';
import { isServed } from './session-directory.js';

/** The directory in a farm by which it is known. Links are made in it before they get their names. */
export const FARM_MARK = '.tiered-farm';
/** A link in there, to the directory of the session that changes the farm. */
const SESSION = 'session';
/** The group and all others may write. */
const OTHERS_WRITE = 0o022;

/** The directory of a farm, and the directories that must not be in it. */
export interface FarmPlace {
  readonly directory: string;
  readonly session: string;
  readonly root: string;
  readonly tiers: readonly string[];
}

/**
 * Makes the directory of a farm, or takes over one that a daemon left.
 * @returns Its real path, and whether it was a farm before.
 * @throws TieredError `TIERED_CONFIG_INVALID` if something else is there, others may write into it, or it is
 * in a level of the hierarchy; errors of the system.
 */
export function openFarmDirectory({ directory: wished, session, root, tiers }: FarmPlace): {
  readonly directory: string;
  readonly isOld: boolean;
} {
  assertOutside(realPathOf(wished), [root, ...tiers]);
  fs.mkdirSync(wished, { recursive: true, mode: 0o755 });
  const directory = fs.realpathSync(wished);
  assertOwn(directory);
  const mark = path.join(directory, FARM_MARK);
  if (fs.existsSync(mark)) assertOwn(mark);
  const isOld = fs.lstatSync(mark, { throwIfNoEntry: false })?.isDirectory() === true;
  if (!isOld && fs.readdirSync(directory).length > 0)
    throw configError('farm', 'a path at which there is nothing, or a farm that a daemon left', wished);
  if (!isOld) fs.mkdirSync(mark, { mode: 0o700 });
  fs.rmSync(path.join(mark, SESSION), { force: true });
  fs.symlinkSync(session, path.join(mark, SESSION));
  return { directory, isOld };
}

/**
 * Makes sure that no other daemon changes a farm: two would change the same links, each as it knows better.
 * @throws TieredError `TIERED_CONFIG_INVALID` if one does.
 */
export async function assertFarmIsLeft(wished: string, session: string): Promise<void> {
  const link = path.join(wished, FARM_MARK, SESSION);
  const isLink = fs.lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  const last = isLink ? fs.readlinkSync(link) : session;
  // This session may have taken the place of the last one.
  if (last !== session && (await isServed(last)))
    throw configError('farm', 'a farm that no daemon changes; end that one, or name another', wished);
}

/** A user who may write into a farm decides what programs read by it. */
function assertOwn(directory: string): void {
  const { uid, mode } = fs.statSync(directory);
  if (uid !== 0 && uid !== process.getuid?.())
    throw configError('farm', 'a directory of this user, or of root', `${directory}, of user ${uid}`);
  if ((mode & OTHERS_WRITE) !== 0)
    throw configError('farm', 'a directory that nobody else may write into (chmod go-w)', directory);
}

/** In a source it would be listed, and in a tier be taken for copies. */
function assertOutside(directory: string, levels: readonly string[]): void {
  for (const level of levels)
    if (isWithin(directory, level) || isWithin(level, directory))
      throw configError('farm', `a path that is not in ${level}, and that is not above it`, directory);
}

const isWithin = (inner: string, outer: string) => inner === outer || inner.startsWith(`${outer}/`);

/** The real path of what need not be there yet. */
function realPathOf(wished: string): string {
  const absolute = path.resolve(wished);
  if (fs.existsSync(absolute)) return fs.realpathSync(absolute);
  return path.join(realPathOf(path.dirname(absolute)), path.basename(absolute));
}
