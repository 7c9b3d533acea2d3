import { driverConformance } from '@tiered/core/conformance';
import { S3Driver, type S3DriverOptions } from '@tiered/s3-adapter';
import { S3Server } from '@tiered/s3-server';
import { describe, inject, it } from 'vitest';

async function subject(options: Omit<S3DriverOptions, 'bucket'>) {
  const server = await S3Server.start();
  server.createBucket('data');
  const { endpoint, region, credentials } = server;
  const driver = new S3Driver({ bucket: 'data', endpoint, region, credentials, proxy: 'none', ...options });
  const prefix = options.prefix ?? '';
  return {
    driver,
    openResources: () => driver.openConnections,
    cleanUp: () => server.close(),
    ...(options.writable !== true && {
      put: async (key: string, bytes: Uint8Array) => {
        server.put('data', prefix + key, bytes);
      },
    }),
  };
}

describe('S3Driver for writing', () => {
  driverConformance({ test: it, factory: () => subject({ writable: true }) });
});

describe('S3Driver for reading, below a prefix, with one connection', () => {
  const factory = () => subject({ prefix: 'some/where/', concurrency: 1 });
  driverConformance({ test: it, factory, wrapped: inject('nightly') });
});
