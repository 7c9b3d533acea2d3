import type { LabelledImage } from '@tiered/formats/image-folder';
import type { SampleContext } from '@tiered/loader';
import sharp from 'sharp';
import { randomBox, SIDE, type Example } from '../../examples/image-workers/decode.js';
import { HEIGHT, WIDTH } from './photographs.js';

sharp.cache(false);
sharp.concurrency(1);

/** What `augment` of the example does, by sharp. */
export async function augment({ bytes, label }: LabelledImage, { random }: SampleContext): Promise<Example> {
  const isMirrored = random.unit() < 0.5;
  const image = sharp(bytes)
    .extract(randomBox(WIDTH, HEIGHT, random))
    .resize(SIDE, SIDE, { fit: 'fill', kernel: 'linear' })
    .flop(isMirrored);
  return { image: await image.raw().toBuffer(), label: Uint8Array.of(label) };
}
