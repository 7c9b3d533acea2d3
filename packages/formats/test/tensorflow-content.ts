import type { Feature } from '@tiered/formats/tfrecord';
import fs from 'node:fs';
import path from 'node:path';

/** Kind and values of a feature. Integers are texts and bytes are hex, because JSON has neither. */
type JsonFeature = readonly [kind: string, values: readonly unknown[]];
type JsonFeatures = Readonly<Record<string, JsonFeature>>;

/** What TensorFlow wrote into the files in `data/tfrecord`. */
export const tensorflowContent = JSON.parse(
  fs.readFileSync(path.join(import.meta.dirname, 'data', 'tfrecord', 'content.json'), 'utf8'),
) as {
  readonly examples: readonly JsonFeatures[];
  readonly sequences: readonly {
    readonly context: JsonFeatures;
    readonly lists: Readonly<Record<string, readonly JsonFeature[]>>;
  }[];
};

/** The features of JSON as they are encoded and decoded. */
export function featuresOf(features: JsonFeatures): Map<string, Feature> {
  return new Map(Object.entries(features).map(([name, [kind, values]]) => [name, featureOf(kind, values)]));
}

function featureOf(kind: string, values: readonly unknown[]): Feature {
  if (kind === 'float') return { kind, values: Float32Array.from(values as number[]) };
  if (kind === 'int64') return { kind, values: (values as string[]).map((value) => BigInt(value)) };
  return {
    kind: 'bytes',
    values: (values as string[]).map((value) => Uint8Array.from(Buffer.from(value, 'hex'))),
  };
}
