/** What the threads of sharp-workers.ts load. A thread gets functions by the module that they are in. */
import type { LabelledImage } from '@tiered/formats/image-folder';
import { stack } from '@tiered/loader';
import sharp from 'sharp';

/** Images come as squares of so many pixels a side. */
export const SIDE = 64;

/** The pixels of an image: always the same for the same bytes, so they can be kept. */
export async function pixels({ bytes }: Pick<LabelledImage, 'bytes'>): Promise<Uint8Array> {
  return sharp(bytes).resize(SIDE, SIDE).removeAlpha().raw().toBuffer();
}

/** The same with the label, for a loader that decodes each image in each epoch. */
export async function decode(image: LabelledImage): Promise<LabelledImage> {
  return { ...image, bytes: await pixels(image) };
}

/** One array of all pixels, and one of all labels. */
export function collate(images: readonly LabelledImage[]) {
  return {
    images: stack(images.map(({ bytes }) => bytes)),
    labels: Uint8Array.from(images, ({ label }) => label),
  };
}
