import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { isTieredError, type StorageDriver } from '@tiered/core';
import { S3Driver } from '@tiered/s3-adapter';
import { datasetName, type Dataset } from './dataset.js';
import { DemoError } from './errors.js';
import { megabytes } from './format.js';
import type { BucketChoice } from './options.js';
import type { Progress } from './progress.js';
import type { Source } from './store.js';

/** Enough to keep a link busy with shards of 1 MB. */
const UPLOADS_AT_ONCE = 8;

/**
 * Uploads what is missing of the dataset to a bucket of any server, where it stays for the next run.
 * @throws DemoError if the bucket cannot be used, or holds something else where the dataset belongs.
 */
export async function openBucket(
  choice: BucketChoice,
  dataset: Dataset,
  progress: Progress,
  signal: AbortSignal,
): Promise<Source> {
  // Datasets of other sizes have shards of the same names.
  const prefix = `${choice.prefix}${datasetName(dataset.samples)}/`;
  const { bucket, endpoint, region } = choice;
  const connect = (writable = false) => new S3Driver({ bucket, prefix, endpoint, region, writable });
  try {
    const driver = connect(true);
    await driver.open({ signal });
    try {
      await uploadMissing(dataset, driver, progress, signal);
    } finally {
      await driver.close();
    }
    return {
      about: `${driver.location}, as fast as it is, without a throttle`,
      connect: () => connect(),
      close: async () => undefined,
    };
  } catch (cause) {
    if (!isTieredError(cause)) throw cause;
    throw new DemoError(
      `The bucket "${bucket}" cannot be used. ${cause.code}: ${cause.message}\n` +
        'It must exist on the server that --endpoint names (without it: AWS_ENDPOINT_URL, or AWS itself), and the ' +
        'credentials must be allowed to list, read and write it.',
      { cause },
    );
  }
}

async function uploadMissing(
  { directory, files }: Dataset,
  driver: StorageDriver,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  const missing = new Map(Object.entries(files));
  for await (const page of driver.list({ signal })) {
    for (const { key, size } of page) {
      const expected = files[key];
      if (expected === undefined) throw notOurs(driver, key);
      if (size === expected) missing.delete(key);
    }
  }
  const total = Object.keys(files).length;
  if (missing.size === 0) {
    progress.say(`all ${total} shards are in ${driver.location}`);
    return;
  }
  const bytes = [...missing.values()].reduce((sum, size) => sum + size, 0);
  progress.beginUpload(
    `uploading ${missing.size} of ${total} shards, ${megabytes(bytes)} MB, to ${driver.location}, where they stay`,
    missing.size,
  );
  const remaining = missing.entries();
  const uploadTheRest = async () => {
    for (const [key, size] of remaining) {
      const shard = await readFile(path.join(directory, key), { signal });
      await driver.write(key, shard, { size, signal });
      progress.shard();
    }
  };
  try {
    await Promise.all(Array.from({ length: UPLOADS_AT_ONCE }, uploadTheRest));
  } finally {
    progress.stop();
  }
}

function notOurs({ location }: StorageDriver, key: string): DemoError {
  return new DemoError(
    `${location} holds ${JSON.stringify(key)}, which is not of this demo: name another prefix, as in s3://bucket/prefix.`,
  );
}
