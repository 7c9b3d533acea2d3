import { Hierarchy, MemoryDriver } from '@tiered/core';
import { openSamples, type OpenSamplesOptions, type SampleSet } from '@tiered/formats';
import { onTestFinished } from 'vitest';

/** The samples of objects in memory, by their keys: their bytes, or how many zeros they have. */
export async function openObjects<S>(
  objects: Readonly<Record<string, Uint8Array | number>>,
  options: OpenSamplesOptions<S>,
): Promise<SampleSet<S>> {
  const source = new MemoryDriver({ name: 'source' });
  for (const [key, content] of Object.entries(objects)) {
    const bytes = typeof content === 'number' ? new Uint8Array(content) : content;
    await source.write(key, bytes, { size: bytes.byteLength });
  }
  const hierarchy = await new Hierarchy({ source }).open();
  onTestFinished(() => hierarchy.close());
  return openSamples(hierarchy, options);
}
