import fs from 'node:fs/promises';
import path from 'node:path';
import sharp from 'sharp';

const COLOURS = { cat: { r: 230, g: 120, b: 30 }, dog: { r: 30, g: 120, b: 230 } };

/** Writes so many images of each class, in a directory for each: red cats and blue dogs. */
export async function writeImages(root: string, count: number): Promise<void> {
  for (const [name, background] of Object.entries(COLOURS)) {
    await fs.mkdir(path.join(root, name), { recursive: true });
    const image = sharp({ create: { width: 1024, height: 768, channels: 3, background } });
    const jpeg = await image.jpeg().toBuffer();
    for (let i = 0; i < count; i++) await fs.writeFile(path.join(root, name, `${i}.jpg`), jpeg);
  }
}
