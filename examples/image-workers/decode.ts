// What the threads of image-workers.ts load. A thread gets functions by the module that they are in.
// libjpeg-turbo decodes, and @napi-rs/image resizes with the vector instructions of the processor.
import type { Random } from '@tiered/core';
import type { LabelledImage } from '@tiered/formats/image-folder';
import type { SampleContext } from '@tiered/loader';
import turbo from '@julusian/jpeg-turbo';
import { FastResizeFilter, ResizeFit, Transformer } from '@napi-rs/image';

/** Images come as squares of so many pixels a side. */
export const SIDE = 224;

/**
 * Memory for the image that is being decoded. It is used again, because the garbage collector runs the more
 * often the more memory is allocated for each image. What no image has touched takes no memory. A larger
 * image is an error.
 */
const decoded = Buffer.alloc(4 * 4096 * 4096);

/** A part of an image, in pixels. */
export interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** The middle of an image, as a square: always the same for the same bytes, so it can be kept. */
export function pixels({ bytes }: Pick<LabelledImage, 'bytes'>): Uint8Array {
  return square(bytes, (width, height) => {
    const side = Math.min(width, height);
    return { left: (width - side) >> 1, top: (height - side) >> 1, width: side, height: side };
  });
}

/** An image for training, in arrays that `stackEach` stacks. */
export interface Example {
  readonly image: Uint8Array;
  readonly label: Uint8Array;
}

/** A random part of an image, mirrored or not: another one in each epoch. */
export function augment({ bytes, label }: LabelledImage, { random }: SampleContext): Example {
  const isMirrored = random.unit() < 0.5;
  const choose = (width: number, height: number) => randomBox(width, height, random);
  return { image: square(bytes, choose, isMirrored), label: Uint8Array.of(label) };
}

/** Decodes a JPEG, and resizes a part of it to a square of RGB. */
function square(
  bytes: Uint8Array,
  choose: (width: number, height: number) => Box,
  isMirrored = false,
): Uint8Array {
  const jpeg = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const { data, width, height } = turbo.decompressSync(jpeg, decoded, { format: turbo.FORMAT_RGBA });
  const box = choose(width, height);
  const resized = Transformer.fromRgbaPixels(cut(data, width, box), box.width, box.height).fastResize({
    width: SIDE,
    height: SIDE,
    filter: FastResizeFilter.Bilinear,
    fit: ResizeFit.Fill,
  });
  return toRgb(resized.rawPixelsSync(), isMirrored);
}

/** Moves the rows of a part to the beginning of the memory of the whole. */
function cut(rgba: Buffer, imageWidth: number, { left, top, width, height }: Box): Buffer {
  for (let row = 0; row < height; row++) {
    const from = 4 * ((top + row) * imageWidth + left);
    rgba.copyWithin(4 * row * width, from, from + 4 * width);
  }
  return rgba.subarray(0, 4 * width * height);
}

function toRgb(rgba: Uint8Array, isMirrored: boolean): Uint8Array {
  const rgb = new Uint8Array(3 * SIDE * SIDE);
  const step = isMirrored ? -3 : 3;
  for (let row = 0, from = 0; row < SIDE; row++) {
    let to = 3 * SIDE * row + (isMirrored ? 3 * (SIDE - 1) : 0);
    for (let column = 0; column < SIDE; column++, from += 4, to += step) {
      rgb[to] = rgba[from] ?? 0;
      rgb[to + 1] = rgba[from + 1] ?? 0;
      rgb[to + 2] = rgba[from + 2] ?? 0;
    }
  }
  return rgb;
}

/** Draws as `RandomResizedCrop` of torchvision does: 8 to 100 % of the area, and sides from 3:4 to 4:3. */
export function randomBox(imageWidth: number, imageHeight: number, random: Random): Box {
  for (let attempt = 0; attempt < 10; attempt++) {
    const area = imageWidth * imageHeight * (0.08 + 0.92 * random.unit());
    const ratio = (3 / 4) * (16 / 9) ** random.unit();
    const width = Math.round(Math.sqrt(area * ratio));
    const height = Math.round(Math.sqrt(area / ratio));
    if (width > imageWidth || height > imageHeight) continue;
    const left = random.below(imageWidth - width + 1);
    return { left, top: random.below(imageHeight - height + 1), width, height };
  }
  return { left: 0, top: 0, width: imageWidth, height: imageHeight };
}
