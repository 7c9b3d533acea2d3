import { Hierarchy, type StorageDriver } from '@tiered/core';
import { openSamples } from '@tiered/formats';
import { rawRecords } from '@tiered/formats/raw';
import { DataLoader, stack, type Stacked } from '@tiered/loader';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { S3Driver, type S3Credentials } from '@tiered/s3-adapter';

/** Bytes of a sample, each an object. */
export const SAMPLE_BYTES = 100_000;
export const BATCH = 32;

/** Where samples are. */
export type Place =
  | { readonly kind: 'files'; readonly root: string }
  | {
      readonly kind: 's3';
      readonly endpoint: string;
      readonly region: string;
      readonly credentials: S3Credentials;
      readonly bucket: string;
    };

/** Makes the same loader in whatever thread calls it. */
export async function makeLoader(place: Place) {
  const hierarchy = await new Hierarchy({ source: driverOf(place) }).open();
  const samples = await openSamples(hierarchy, { format: rawRecords({ recordBytes: SAMPLE_BYTES }) });
  const loader = new DataLoader<Uint8Array, Uint8Array, Stacked<Uint8Array>>(samples, {
    batchSize: BATCH,
    dropLast: true,
    collate: stack,
  });
  return { loader, close: () => hierarchy.close() };
}

function driverOf(place: Place): StorageDriver {
  if (place.kind === 'files') return new FileSystemDriver({ root: place.root });
  const { bucket, endpoint, region, credentials } = place;
  return new S3Driver({ bucket, endpoint, region, credentials });
}
