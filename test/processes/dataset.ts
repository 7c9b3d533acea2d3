import { Random } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import fs from 'node:fs';
import path from 'node:path';
import { sourceOf, type Place } from './place.js';

/**
 * Writes objects of random sizes up to a largest one, some in directories of their own; returns their keys.
 */
export function makeDataset(place: Place, objects: number, largest: number): string[] {
  const random = new Random(objects);
  return Array.from({ length: objects }, (_, i) => {
    const key = i % 3 === 0 ? `own/${i}/Deep/object` : `shared/${i % 5}/object-${i}`;
    const file = path.join(sourceOf(place), key);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, someBytes(1 + random.below(largest), i));
    return key;
  });
}
