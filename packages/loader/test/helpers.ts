import type { Hierarchy } from '@tiered/core';
import { openSamples, type SampleSet } from '@tiered/formats';
import { rawRecords } from '@tiered/formats/raw';
import { DataLoader, type Batch, type DataLoaderOptions, type LoaderPart } from '@tiered/loader';
import { onTestFinished } from 'vitest';
import { grouped, RECORD } from './formats.js';
import { hierarchyWith } from './sources.js';

export function nameOf(bytes: Uint8Array): string {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  return `${view.getUint32(0)}/${view.getUint32(4)}`;
}

/** A hierarchy over objects of so many records, which is closed at the end of the test. */
export async function hierarchyOf(counts: readonly number[]): Promise<Hierarchy> {
  const hierarchy = await hierarchyWith(counts);
  onTestFinished(() => hierarchy.close());
  return hierarchy;
}

/** Samples that can be read singly. */
export async function singles(counts: readonly number[]): Promise<SampleSet<Uint8Array>> {
  return openSamples(await hierarchyOf(counts), { format: rawRecords({ recordBytes: RECORD }) });
}

export async function groups(counts: readonly number[], each: number): Promise<SampleSet<Uint8Array>> {
  return openSamples(await hierarchyOf(counts), { format: grouped(each) });
}

type Given = SampleSet<Uint8Array> | readonly LoaderPart<Uint8Array>[];

/** A loader that is closed at the end of the test. */
export function loaderOf<T = Uint8Array, C = readonly T[]>(
  samples: Given,
  options: DataLoaderOptions<Uint8Array, T, C>,
): DataLoader<Uint8Array, T, C> {
  const loader = new DataLoader<Uint8Array, T, C>(samples, options);
  onTestFinished(() => loader.close());
  return loader;
}

/** The names of the samples of batches, which are asked for one after the other. */
export async function namesOf(
  batches: AsyncIterable<Batch<readonly Uint8Array[]>>,
  most = Infinity,
): Promise<string[][]> {
  const names: string[][] = [];
  for await (const { data } of batches) {
    names.push(data.map(nameOf));
    if (names.length === most) break;
  }
  return names;
}

/** The names of all samples, in order of their numbers. */
export function allNames(counts: readonly number[]): string[] {
  return counts.flatMap((count, object) =>
    Array.from({ length: count }, (_, record) => `${object}/${record}`),
  );
}
