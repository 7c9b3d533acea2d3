import fs from 'node:fs';
import path from 'node:path';

/** In the directory of a session. */
export const ABOUT = 'about.json';

/** What a session serves: all that has to be at the same paths in a container. */
export interface SessionAbout {
  /** The path below which programs find the objects. */
  readonly root: string;
  /** Whether there is nothing at that path, because the source is no directory. */
  readonly isImaginary: boolean;
  /** The directories of the tiers, fastest first. */
  readonly tiers: readonly string[];
}

/** Says it to whoever starts programs. */
export function writeAbout(directory: string, about: SessionAbout): void {
  fs.writeFileSync(path.join(directory, ABOUT), JSON.stringify(about), { mode: 0o600 });
}

/** What a session in a directory serves; undefined where there is none. */
export function aboutSession(directory: string): SessionAbout | undefined {
  try {
    return JSON.parse(fs.readFileSync(path.join(directory, ABOUT), 'utf8')) as SessionAbout;
  } catch {
    // What is not whole yet is of no use to anybody either.
    return undefined;
  }
}
