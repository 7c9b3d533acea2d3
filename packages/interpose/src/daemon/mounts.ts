import fs from 'node:fs';

/** The kernel writes some characters as a backslash and three octal digits. */
const ESCAPED = /\\([0-7]{3})/g;

/**
 * What is mounted below a directory, as this process sees it, each as `DEVICE ROOT PATH`, with its path
 * behind that of the directory: programs sum it up in the same way (src-c/mounts.c). Nothing where there is
 * no such list, as on macOS.
 */
export function mountsBelow(directory: string): Uint8Array[] {
  let list: string;
  try {
    // Paths are bytes.
    list = fs.readFileSync('/proc/self/mountinfo', 'latin1');
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
