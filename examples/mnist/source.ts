import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { StorageDriver } from '@tiered/core';
import { ThrottleDriver } from '@tiered/core/decorators';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { S3Driver } from '@tiered/s3-adapter';
import { S3Server } from '@tiered/s3-server';
import { openBucket } from './bucket.js';
import type { Dataset } from './dataset.js';
import { megabytes } from './format.js';
import type { SourceChoice } from './options.js';
import type { Progress } from './progress.js';
import type { Source } from './store.js';

/** What makes storage in this machine behave like one that many share. */
const LATENCY_MS = 4;
/** Reading an epoch from the source takes so many times as long as computing it, on any machine. */
const SLOWER = 3;

/** Of the throttle, the bytes a second of all readers together. */
export function bytesPerSecondFor({ bytes }: Pick<Dataset, 'bytes'>, epochSeconds: number): number {
  return Math.round(bytes / (SLOWER * epochSeconds));
}

/**
 * Puts the dataset where the user wants to have it, if it is not there yet.
 * @param epochSeconds What the model computes in an epoch.
 * @throws DemoError if a bucket cannot be used.
 */
export async function openSource(
  choice: SourceChoice,
  dataset: Dataset,
  epochSeconds: number,
  progress: Progress,
  signal: AbortSignal,
): Promise<Source> {
  if (choice.kind === 'bucket') return openBucket(choice, dataset, progress, signal);
  const bytesPerSecond = bytesPerSecondFor(dataset, epochSeconds);
  const pace = `slowed down to ${LATENCY_MS} ms an operation and ${megabytes(bytesPerSecond)} MB/s for all together, so that reading an epoch takes ${SLOWER} x as long as computing it here`;
  const throttled = (driver: StorageDriver) =>
    new ThrottleDriver(driver, { latencyMs: LATENCY_MS, bytesPerSecond });
  if (choice.kind === 'embedded') return embeddedServer(dataset, pace, throttled, signal);
  return {
    about: `a directory, ${pace}`,
    connect: () => throttled(new FileSystemDriver({ root: dataset.directory })),
    close: async () => undefined,
  };
}

async function embeddedServer(
  { directory, files }: Dataset,
  pace: string,
  throttled: (driver: StorageDriver) => StorageDriver,
  signal: AbortSignal,
): Promise<Source> {
  const server = await S3Server.start();
  const bucket = 'mnist';
  server.createBucket(bucket);
  for (const key of Object.keys(files))
    server.put(bucket, key, await readFile(path.join(directory, key), { signal }));
  const { endpoint, region, credentials } = server;
  return {
    about: `the embedded S3 server, ${pace}`,
    connect: () => throttled(new S3Driver({ bucket, endpoint, region, credentials, proxy: 'none' })),
    close: () => server.close(),
  };
}
