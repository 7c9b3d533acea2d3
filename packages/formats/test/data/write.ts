/** Writes files by the writers of this package, for `check.py`: see CONTRIBUTING.md. */
import fs from 'node:fs';
import path from 'node:path';

const [root] = process.argv.slice(2);
if (root === undefined) throw new Error('usage: write.ts DIRECTORY');

/** What each format writes, by the name of its folder and that of the file. */
const FILES: Readonly<Record<string, Readonly<Record<string, Uint8Array>>>> = {};

for (const [format, files] of Object.entries(FILES)) {
  fs.mkdirSync(path.join(root, format), { recursive: true });
  for (const [name, bytes] of Object.entries(files)) fs.writeFileSync(path.join(root, format, name), bytes);
}
