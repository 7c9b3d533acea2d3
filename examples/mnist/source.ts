import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { StorageDriver } from '@tiered/core';
import { ThrottleDriver } from '@tiered/core/decorators';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { S3Driver } from '@tiered/s3-adapter';
import { S3Server } from '@tiered/s3-server';
import { openBucket } from './bucket.js';
import type { Dataset } from './dataset.js';
import type { SourceChoice } from './options.js';
import type { Progress } from './progress.js';
import type { Source } from './store.js';

/** What makes storage in this machine behave like one that many share. */
const LATENCY_MS = 4;
const BYTES_PER_SECOND = '15MB';
const THROTTLE = `slowed down to ${LATENCY_MS} ms an operation and ${BYTES_PER_SECOND}/s for all together`;

/**
 * Puts the dataset where the user wants to have it, if it is not there yet.
 * @throws DemoError if a bucket cannot be used.
 */
export async function openSource(
  choice: SourceChoice,
  dataset: Dataset,
  progress: Progress,
  signal: AbortSignal,
): Promise<Source> {
  if (choice.kind === 'bucket') return openBucket(choice, dataset, progress, signal);
  if (choice.kind === 'embedded') return embeddedServer(dataset, signal);
  return {
    about: `a directory, ${THROTTLE}`,
    connect: () => throttled(new FileSystemDriver({ root: dataset.directory })),
    close: async () => undefined,
  };
}

async function embeddedServer({ directory, files }: Dataset, signal: AbortSignal): Promise<Source> {
  const server = await S3Server.start();
  const bucket = 'mnist';
  server.createBucket(bucket);
  for (const key of Object.keys(files))
    server.put(bucket, key, await readFile(path.join(directory, key), { signal }));
  const { endpoint, region, credentials } = server;
  return {
    about: `the embedded S3 server, ${THROTTLE}`,
    connect: () => throttled(new S3Driver({ bucket, endpoint, region, credentials, proxy: 'none' })),
    close: () => server.close(),
  };
}

function throttled(driver: StorageDriver): StorageDriver {
  return new ThrottleDriver(driver, { latencyMs: LATENCY_MS, bytesPerSecond: BYTES_PER_SECOND });
}
