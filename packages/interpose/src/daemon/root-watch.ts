import { readFileSync } from 'node:fs';
import fs from 'node:fs/promises';
import type { RootFile, TableOptions } from '../table/writer.js';
import { inodeOf } from './source-files.js';

/** Told which paths of the root lead elsewhere for now, by a bit for each, when that has changed. */
type OnAway = (away: number) => void;

/** A path leads nowhere. Any other error says nothing of where it leads, such as that of a server. */
const NOWHERE = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ESTALE']);

/** The kernel writes some characters as a backslash and three octal digits. */
const ESCAPED = /\\([0-7]{3})/g;

/**
 * Looks whether the paths of the root still lead there: links are turned, and directories swapped. Programs
 * do not look themselves, as they would wait for the source.
 */
export class RootWatch {
  readonly #roots: readonly string[];
  readonly #rootFile: RootFile;
  readonly #onAway: OnAway;
  #away = 0;
  #isLooking = false;

  private constructor(roots: readonly string[], rootFile: RootFile, onAway: OnAway) {
    this.#roots = roots;
    this.#rootFile = rootFile;
    this.#onAway = onAway;
  }

  /** Undefined for a root that need not be there. */
  static over(
    { roots, rootFile }: Pick<TableOptions, 'roots' | 'rootFile'>,
    onAway: OnAway,
  ): RootWatch | undefined {
    return rootFile === undefined ? undefined : new RootWatch(roots, rootFile, onAway);
  }

  /** Looks once, if the look before has ended, which may take as long as the source does. */
  look(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    void this.#look().finally(() => (this.#isLooking = false));
  }

  async #look(): Promise<void> {
    let away = 0;
    for (const [i, root] of this.#roots.entries()) if (await this.#isAway(root, i)) away |= 1 << i;
    if (away === this.#away) return;
    this.#away = away;
    this.#onAway(away);
  }

  async #isAway(root: string, i: number): Promise<boolean> {
    const { device, inode } = this.#rootFile;
    try {
      const { dev, ino } = await fs.stat(root, { bigint: true });
      return dev !== device || inodeOf(ino) !== inode;
    } catch (error) {
      const isNowhere = NOWHERE.has((error as NodeJS.ErrnoException).code ?? '');
      return isNowhere || ((this.#away >> i) & 1) === 1;
    }
  }
}

/**
 * The mounts below a directory, as this process sees them, each as `DEVICE ROOT PATH`, with its path
 * behind that of the directory: programs sum it up in the same way (src-c/mounts.c). None if there is no
 * such list, as on macOS.
 */
export function mountsBelow(directory: string): Uint8Array[] {
  let list: string;
  try {
    // Paths are bytes.
    list = readFileSync('/proc/self/mountinfo', 'latin1');
  } catch {
    return [];
  }
  const above = `${Buffer.from(directory).toString('latin1')}/`;
  return list.split('\n').flatMap((line) => {
    const [, , device = '', root = '', escaped = ''] = line.split(' ');
    const path = escaped.replace(ESCAPED, (_, digits: string) => String.fromCharCode(parseInt(digits, 8)));
    if (!path.startsWith(above)) return [];
    return [Buffer.from(`${device} ${root} ${path.slice(above.length - 1)}`, 'latin1')];
  });
}
