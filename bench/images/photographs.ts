import { Random } from '@tiered/core';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import sharp from 'sharp';

export const WIDTH = 500;
export const HEIGHT = 375;
const QUALITY = 85;

/** Scenes are several times as large as the photographs that are cut out of them. */
const SCENES = 12;
const SCENE_WIDTH = 3 * WIDTH;
const SCENE_HEIGHT = 3 * HEIGHT;
const SHAPES = 60;
/** Pixels of the textures of a scene, from clouds to the grain of a camera, and how strong each is. */
const TEXTURES = [
  { pixel: 96, strength: 30 },
  { pixel: 24, strength: 22 },
  { pixel: 6, strength: 18 },
  { pixel: 2, strength: 18 },
] as const;

/**
 * Writes JPEG files as datasets of photographs have them: 500 x 375, quality 85, 4:2:0, about 50 KB on
 * average, from smooth to busy. Their content is made: colours, shapes with edges, and textures of all sizes.
 * Resolves to the bytes of all together.
 */
export async function writePhotographs(directory: string, keys: readonly string[]): Promise<number> {
  await mkdir(directory, { recursive: true });
  const scenes = await Promise.all(Array.from({ length: SCENES }, (_, i) => sceneOf(new Random(1, i))));
  const random = new Random(2);
  let bytes = 0;
  for (const [i, key] of keys.entries()) {
    const scene = scenes[i % SCENES];
    const left = random.below(SCENE_WIDTH - WIDTH);
    const top = random.below(SCENE_HEIGHT - HEIGHT);
    const piece = sharp(scene, { raw: RAW_SCENE }).extract({ left, top, width: WIDTH, height: HEIGHT });
    const jpeg = await piece.jpeg({ quality: QUALITY }).toBuffer();
    await writeFile(path.join(directory, key), jpeg);
    bytes += jpeg.length;
  }
  return bytes;
}

const RAW_SCENE = { width: SCENE_WIDTH, height: SCENE_HEIGHT, channels: 3 } as const;

/** The pixels of a scene: a sky or a floor of soft colours, shapes on it, and textures over all. */
async function sceneOf(random: Random): Promise<Buffer> {
  const busy = 0.2 + 1.3 * random.unit();
  const textures = await Promise.all(
    TEXTURES.map((one) => textureOf(random, one.pixel, busy * one.strength)),
  );
  return sharp(await noise(random, 250, 50))
    .composite([
      { input: Buffer.from(shapesOf(random)) },
      ...textures.map((input) => ({ input, blend: 'hard-light' as const })),
    ])
    .removeAlpha()
    .raw()
    .toBuffer();
}

function textureOf(random: Random, pixel: number, strength: number): Promise<Buffer> {
  return noise(random, pixel, strength, 1);
}

/** Normal noise around a middle grey, or around it in each colour, with pixels of a size: as a PNG. */
async function noise(random: Random, pixel: number, strength: number, channels: 1 | 3 = 3): Promise<Buffer> {
  const width = Math.ceil(SCENE_WIDTH / pixel);
  const height = Math.ceil(SCENE_HEIGHT / pixel);
  const data = Uint8ClampedArray.from(
    { length: width * height * channels },
    () => 128 + strength * random.normal(),
  );
  return sharp(data, { raw: { width, height, channels } })
    .resize(SCENE_WIDTH, SCENE_HEIGHT, { kernel: 'cubic', fit: 'fill' })
    .png({ compressionLevel: 0 })
    .toBuffer();
}

function shapesOf(random: Random): string {
  const shapes = Array.from({ length: SHAPES }, () => {
    const [x, y] = [random.below(SCENE_WIDTH), random.below(SCENE_HEIGHT)];
    const [rx, ry] = [20 + random.below(180), 20 + random.below(180)];
    const fill = `rgb(${random.below(256)},${random.below(256)},${random.below(256)})`;
    const turned = `fill="${fill}" fill-opacity="${0.4 + 0.6 * random.unit()}" transform="rotate(${random.below(180)} ${x} ${y})"`;
    return random.below(2) === 0
      ? `<ellipse cx="${x}" cy="${y}" rx="${rx}" ry="${ry}" ${turned}/>`
      : `<rect x="${x - rx}" y="${y - ry}" width="${rx}" height="${ry}" ${turned}/>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${SCENE_WIDTH}" height="${SCENE_HEIGHT}">${shapes.join('')}</svg>`;
}
