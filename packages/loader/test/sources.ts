import { Hierarchy, MemoryDriver } from '@tiered/core';
import { recordBytes } from './formats.js';

/** Objects of so many records. */
export async function driverWith(counts: readonly number[]): Promise<MemoryDriver> {
  const source = new MemoryDriver({ name: 'source' });
  for (const [object, count] of counts.entries()) {
    const bytes = Buffer.concat(Array.from({ length: count }, (_, record) => recordBytes(object, record)));
    await source.write(String(object).padStart(4, '0'), bytes, { size: bytes.byteLength });
  }
  return source;
}

/** A hierarchy over objects of so many records. */
export async function hierarchyWith(counts: readonly number[]): Promise<Hierarchy> {
  return new Hierarchy({ source: await driverWith(counts) }).open();
}
