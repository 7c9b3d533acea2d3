import type { Hierarchy } from '@tiered/core';
import type { Gateway, GatewayBucket, GatewayOptions } from '@tiered/gateway';
import { S3Driver } from '@tiered/s3-adapter';
import { S3Server } from '@tiered/s3-server';
import { onTestFinished } from 'vitest';
import { BUCKET, gatewayOn, hierarchyOn } from './helpers.js';

/** Below it the gateways of these tests write. */
export const WRITTEN = 'checkpoints/';

export interface WrittenPlace {
  readonly server: S3Server;
  readonly hierarchy: Hierarchy;
  readonly gateway: Gateway;
  /** Every key of the source. */
  readonly keys: () => readonly string[];
}

interface PlaceOptions {
  readonly bucket?: Partial<GatewayBucket>;
  readonly options?: Partial<GatewayOptions>;
  /** What stands before the keys of the hierarchy, in the bucket of the source. */
  readonly prefix?: string;
}

/** A gateway that writes below a prefix, on a bucket with an object in it, and one beside it. */
export async function writtenPlace(parts: PlaceOptions = {}): Promise<WrittenPlace> {
  const { bucket, options, prefix = '' } = parts;
  const server = await S3Server.start({ minPartBytes: 10 });
  onTestFinished(() => server.close());
  server.createBucket(BUCKET);
  server.put(BUCKET, `${prefix}${WRITTEN}old`, Buffer.from('old'));
  server.put(BUCKET, `${prefix}data`, Buffer.from('data'));
  const { endpoint, credentials } = server;
  const of = { bucket: BUCKET, endpoint, credentials, proxy: 'none', attempts: 1 } as const;
  const hierarchy = await hierarchyOn(new S3Driver({ ...of, prefix }));
  const driver = new S3Driver({ ...of, writable: true });
  const writes = { driver, prefix, prefixes: [WRITTEN] };
  const gateway = await gatewayOn({ hierarchy, prefix, writes, ...bucket }, options);
  return { server, hierarchy, gateway, keys: () => server.keys(BUCKET) };
}
