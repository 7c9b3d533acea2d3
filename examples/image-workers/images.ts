import turbo from '@julusian/jpeg-turbo';
import fs from 'node:fs/promises';
import path from 'node:path';

const COLOURS = { cat: [230, 120, 30], dog: [30, 120, 230] };
const SIZE = { width: 500, height: 375 };

/** Writes so many images of each class, in a directory for each: red cats and blue dogs. */
export async function writeImages(root: string, count: number): Promise<void> {
  for (const [name, colour] of Object.entries(COLOURS)) {
    await fs.mkdir(path.join(root, name), { recursive: true });
    const pixels = Buffer.alloc(SIZE.width * SIZE.height * 3, Uint8Array.from(colour));
    const jpeg = turbo.compressSync(pixels, { ...SIZE, format: turbo.FORMAT_RGB });
    for (let i = 0; i < count; i++) await fs.writeFile(path.join(root, name, `${i}.jpg`), jpeg);
  }
}
