/** Who may read what a driver writes; only the owner may ever change it. */
export const READERS = ['owner', 'group', 'everyone'] as const;

/** One of `READERS`. */
export type ReadableBy = (typeof READERS)[number];

/** The modes of files and directories. */
export interface Access {
  readonly file: number;
  readonly directory: number;
}

/** Of a mode, all but the type of the file. */
const ALL_BITS = 0o7777;

const TO_READ: Record<ReadableBy, number> = { owner: 0, group: 0o040, everyone: 0o044 };

/** Returns the modes for a choice of readers. Whoever may read a directory may enter it. */
export function accessOf(readableBy: ReadableBy): Access {
  const read = TO_READ[readableBy];
  return { file: 0o600 | read, directory: 0o700 | read | (read >> 2) };
}

/**
 * Returns the mode to set on what was just made and has fewer rights than it was to have, because the umask
 * took them away; undefined if it has them all. More rights than wanted stay, as on file systems that know no
 * modes. So do other bits, such as the one by which a directory passes its group on.
 */
export function modeToSet(wanted: number, has: number): number | undefined {
  return (wanted & ~has) === 0 ? undefined : (has | wanted) & ALL_BITS;
}
