import { GetObjectCommand, paginateListObjectsV2, S3Client } from '@aws-sdk/client-s3';
import { S3Driver } from '@tiered/s3-adapter';
import type { BenchServer } from './data.js';

/** What both sides can do. */
export interface Client {
  /** Reads a range into memory of its own or the given one; gives the number of bytes. */
  readonly read: (key: string, target: Uint8Array, offset: number, isWhole: boolean) => Promise<number>;
  /** Lists a bucket; gives the number of objects. */
  readonly list: () => Promise<number>;
  readonly close: () => Promise<void>;
}

const MOST_SOCKETS = 128;

/** `S3Driver`. */
export async function ours(server: BenchServer, bucket: string): Promise<Client> {
  const driver = new S3Driver({ ...server, bucket, concurrency: MOST_SOCKETS });
  await driver.open({});
  return {
    read: (key, target, offset) => driver.readInto(key, target, { offset }),
    list: async () => {
      let objects = 0;
      for await (const page of driver.list({})) objects += page.length;
      return objects;
    },
    close: () => driver.close(),
  };
}

/** AWS's own client, as its documentation sets it up, with as many sockets. */
export async function awsSdk(server: BenchServer, bucket: string): Promise<Client> {
  const { endpoint, region } = server;
  const { accessKeyId, secretAccessKey } = server.credentials;
  const client = new S3Client({
    endpoint,
    region,
    credentials: { accessKeyId, secretAccessKey },
    forcePathStyle: true,
    requestHandler: { httpAgent: { keepAlive: true, maxSockets: MOST_SOCKETS } },
  });
  return {
    read: async (key, target, offset, isWhole) => {
      const range = { Range: `bytes=${offset}-${offset + target.byteLength - 1}` };
      const { Body } = await client.send(
        new GetObjectCommand({ Bucket: bucket, Key: key, ...(!isWhole && range) }),
      );
      if (Body === undefined) return 0;
      let filled = 0;
      for await (const chunk of Body as AsyncIterable<Uint8Array>) {
        target.set(chunk, filled);
        filled += chunk.byteLength;
      }
      return filled;
    },
    list: async () => {
      let objects = 0;
      for await (const { Contents } of paginateListObjectsV2({ client }, { Bucket: bucket }))
        objects += Contents?.length ?? 0;
      return objects;
    },
    close: async () => client.destroy(),
  };
}
