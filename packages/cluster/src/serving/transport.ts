import os from 'node:os';
import type { Hierarchy, StorageDriver } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import { Gateway } from '@tiered/gateway';
import { S3Driver } from '@tiered/s3-adapter';
import type { CheckedOptions } from '../options.js';

/** The name under which every member serves its hierarchy. */
const BUCKET = 'objects';
/** The access key id between members. The secret is the token. */
const ACCESS_KEY = 'tiered-peer';
/** A slower body is a failure: a peer that trickles bytes would block readers. */
const LEAST_BYTES_PER_SECOND = 256 * 1024;
/** Connections to a peer: two requests of each kind are in flight, and one may be ending. */
const CONNECTIONS = 6;

/** The serving side of a worker. */
export interface Listener {
  /** The URL where others reach it. */
  readonly url: string;
  close(): Promise<void>;
}

/** How workers reach each other. */
export interface Transport {
  /**
   * Lets others read from a hierarchy.
   * @param fetches Whether an object on no tier is read from the source for them.
   */
  listen(hierarchy: Hierarchy, fetches: (key: string, bytes: number) => boolean): Promise<Listener>;
  /**
   * Makes a driver that reads from another worker. It takes batches of ranges whose versions are ETags. An
   * object that the worker does not keep is missing. Does not connect yet.
   */
  connect(url: string): StorageDriver;
}

/** HTTP: a gateway at each worker, and S3 drivers as its clients. Requests are signed with the token. */
export function httpTransport(options: CheckedOptions): Transport {
  const { host, port, token, clock, deadlineMs } = options;
  const credentials = token === undefined ? undefined : { accessKeyId: ACCESS_KEY, secretAccessKey: token };
  return {
    listen: async (hierarchy, fetches) => {
      const buckets = { [BUCKET]: { hierarchy, fetches } };
      const gateway = await Gateway.start({ buckets, credentials, host, port, clock });
      return { url: advertised(gateway.endpoint, options), close: () => gateway.close() };
    },
    connect: (url) =>
      new S3Driver({
        bucket: BUCKET,
        endpoint: url,
        pathStyle: true,
        region: 'us-east-1',
        proxy: 'none',
        credentials: credentials ?? 'anonymous',
        concurrency: CONNECTIONS,
        attempts: 1,
        deadlineMs,
        timeoutMs: deadlineMs,
        leastBytesPerSecond: LEAST_BYTES_PER_SECOND,
        batches: 'only',
        clock,
      }),
  };
}

function advertised(endpoint: string, { host, advertise }: CheckedOptions): string {
  if (advertise !== undefined) return advertise;
  if (host !== '0.0.0.0' && host !== '::') return endpoint;
  const networks = Object.values(os.networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const address = networks.find(({ internal, family }) => !internal && family === 'IPv4')?.address;
  if (address === undefined)
    throw configError('advertise', 'the URL of this worker, as it has no network', 'none');
  return `http://${address}:${new URL(endpoint).port}`;
}
