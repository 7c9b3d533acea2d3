/** Who may read what a driver writes; only the owner may ever change it. */
export const READERS = ['owner', 'group', 'everyone'] as const;

/** One of `READERS`. */
export type ReadableBy = (typeof READERS)[number];

/** The modes of files and directories. */
export interface Access {
  readonly file: number;
  readonly directory: number;
}

const TO_READ: Record<ReadableBy, number> = { owner: 0, group: 0o040, everyone: 0o044 };

/** Returns the modes for a choice of readers. Whoever may read a directory may enter it. */
export function accessOf(readableBy: ReadableBy): Access {
  const read = TO_READ[readableBy];
  return { file: 0o600 | read, directory: 0o700 | read | (read >> 2) };
}

/**
 * Whether a mode gives rights to others than the owner. The umask may have removed them, so the mode has to
 * be set again.
 */
export function isForOthers(mode: number): boolean {
  return (mode & 0o077) !== 0;
}
