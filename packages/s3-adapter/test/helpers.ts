import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { StorageDriver } from '@tiered/core';
import { ManualClock } from '@tiered/core/testing';
import { S3Driver, type S3DriverOptions } from '@tiered/s3-adapter';
import { S3Server, type S3ServerOptions } from '@tiered/s3-server';
import { onTestFinished } from 'vitest';

/** The bucket of every test. */
export const BUCKET = 'data';

/**
 * A server with an empty bucket, and a driver on it, open and allowed to write. Both are closed when the test
 * ends.
 */
export interface Place {
  readonly server: S3Server;
  readonly driver: S3Driver;
  /** Of both: `clock.run(...)` passes over their pauses. */
  readonly clock: ManualClock;
}

/** Options of a driver for this server. */
export function optionsFor({ endpoint, region, credentials }: S3Server): S3DriverOptions {
  return { bucket: BUCKET, endpoint, region, credentials, proxy: 'none', writable: true };
}

export async function place(
  options: Partial<S3DriverOptions> = {},
  serverOptions: S3ServerOptions = {},
): Promise<Place> {
  const clock = new ManualClock();
  const server = await S3Server.start({ clock, ...serverOptions });
  server.createBucket(BUCKET);
  const driver = new S3Driver({ ...optionsFor(server), clock, ...options });
  await driver.open({});
  onTestFinished(async () => {
    await driver.close();
    await server.close();
  });
  return { server, driver, clock };
}

/** The whole of an object of up to `length` bytes. */
export async function readAll(driver: StorageDriver, key: string, length = 1000): Promise<Buffer> {
  return Buffer.from(await driver.read(key, { offset: 0, length }));
}

/** Every key of a listing, as it came. */
export async function keysOf(driver: StorageDriver, prefix?: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const page of driver.list({ prefix })) keys.push(...page.map(({ key }) => key));
  return keys;
}

/** Answers of a server that is none: for what the embedded server would never say. */
export async function answering(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A driver on such a server, open; closed when the test ends. */
export async function driverOn(endpoint: string, options: Partial<S3DriverOptions> = {}): Promise<S3Driver> {
  const driver = new S3Driver({
    bucket: BUCKET,
    endpoint,
    proxy: 'none',
    credentials: { accessKeyId: 'KEYKEYKEY', secretAccessKey: 'not/to/be/seen' },
    ...options,
  });
  await driver.open({});
  onTestFinished(() => driver.close());
  return driver;
}
