/** The longest name that file systems take, in bytes. */
const LONGEST_NAME = 255;
/** The most bytes of a character. */
const MOST_BYTES = 3;

const isName = (segment: string) =>
  segment !== '' &&
  segment !== '.' &&
  segment !== '..' &&
  !segment.includes('\0') &&
  (MOST_BYTES * segment.length <= LONGEST_NAME || Buffer.byteLength(segment) <= LONGEST_NAME);

/** Whether a key is a path below a directory as it is written, which leads to no other place. */
export const isPathKey = (key: string): boolean => key.split('/').every(isName);
