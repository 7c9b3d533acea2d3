import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect, type Socket } from 'node:net';
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { Hierarchy, MemoryDriver, type HierarchyOptions, type StorageDriver } from '@tiered/core';
import {
  Gateway,
  type AccessLogEntry,
  type GatewayBucket,
  type GatewayOptions,
  type S3Credentials,
} from '@tiered/gateway';
import { PlacementHandler } from '@tiered/tiering';
import { onTestFinished } from 'vitest';

export const BUCKET = 'data';

export const CREDENTIALS: S3Credentials = {
  accessKeyId: 'TIEREDTESTINGKEY',
  secretAccessKey: 'tiered/testing/secret',
};

/** A source in memory with these objects. */
export async function sourceOf(objects: Readonly<Record<string, Uint8Array>>): Promise<MemoryDriver> {
  const source = new MemoryDriver();
  await source.open({});
  for (const [key, bytes] of Object.entries(objects))
    await source.write(key, bytes, { size: bytes.byteLength });
  return source;
}

/** A hierarchy, open, with a tier in memory for everything; closed when the test ends. */
export async function hierarchyOn(
  source: StorageDriver,
  options: Partial<HierarchyOptions> = {},
): Promise<Hierarchy> {
  const hierarchy = new Hierarchy({
    source,
    tiers: [{ driver: new MemoryDriver(), quota: '64MiB' }],
    placement: new PlacementHandler(),
    ...options,
  });
  onTestFinished(() => hierarchy.close());
  return hierarchy.open();
}

/** A hierarchy whose reads are all from the source: nothing is placed. */
export function onSource(source: StorageDriver): Promise<Hierarchy> {
  return hierarchyOn(source, { tiers: [], placement: undefined });
}

/** A gateway with a bucket, closed when the test ends, before its hierarchies. */
export async function gatewayOn(
  bucket: Hierarchy | GatewayBucket,
  options: Partial<GatewayOptions> = {},
): Promise<Gateway> {
  const served = bucket instanceof Hierarchy ? { hierarchy: bucket } : bucket;
  const gateway = await Gateway.start({ buckets: { [BUCKET]: served }, ...options });
  onTestFinished(() => gateway.close());
  return gateway;
}

/** The AWS SDK, as its users set it up for other servers. It tries once. */
export function clientOf({ endpoint }: Gateway, config: S3ClientConfig = {}): S3Client {
  const client = new S3Client({
    endpoint,
    region: 'eu-central-1',
    credentials: CREDENTIALS,
    forcePathStyle: true,
    maxAttempts: 1,
    ...config,
  });
  onTestFinished(() => client.destroy());
  return client;
}

/** What arrived, also when the connection broke off in the body. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The code of the error that ended the answer too early. */
  readonly brokenOffBy: string | undefined;
}

export interface RawRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

/** One request over a connection of its own, exactly as given. */
export function send(
  { endpoint }: Pick<Gateway, 'endpoint'>,
  target: string,
  { method = 'GET', headers, body }: RawRequest = {},
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(endpoint);
    // Of a GET, Node does not say by itself that it has a body.
    const isFramed = body === undefined || headers?.['transfer-encoding'] !== undefined;
    const length = isFramed ? {} : { 'content-length': body.byteLength };
    const given = { hostname, port, method, path: target, headers: { ...length, ...headers }, agent: false };
    const outgoing = httpRequest(given);
    outgoing.on('error', reject);
    outgoing.on('response', (incoming) => {
      outgoing.off('error', reject).on('error', () => undefined);
      const pieces: Buffer[] = [];
      const end = (brokenOffBy?: string) =>
        resolve({
          status: incoming.statusCode ?? 0,
          headers: incoming.headers,
          body: Buffer.concat(pieces),
          brokenOffBy,
        });
      incoming.on('data', (piece: Buffer) => pieces.push(piece));
      incoming.on('error', (error: NodeJS.ErrnoException) => end(error.code));
      incoming.on('end', () => end());
    });
    outgoing.end(body);
  });
}

/** The code in an error document, which has no namespace: botocore does not understand one that has. */
export function codeIn({ body }: RawAnswer): string | undefined {
  return /<Error><Code>([^<]*)<\/Code>/.exec(body.toString())?.[1];
}

/** A connection, over which a text was sent if one is given. */
export function connectionTo({ endpoint }: Pick<Gateway, 'endpoint'>, text?: string): Socket {
  const socket = connect(Number(new URL(endpoint).port), '127.0.0.1');
  // What the gateway cuts off is an error of the connection, or its end.
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  if (text !== undefined) socket.write(text);
  return socket;
}

/** What is told of the answers, one after the other. */
export function toldOf() {
  const entries: AccessLogEntry[] = [];
  const waiting: (() => void)[] = [];
  const onAnswer = (entry: AccessLogEntry) => {
    entries.push(entry);
    for (const wake of waiting.splice(0)) wake();
  };
  const count = async (wanted: number) => {
    while (entries.length < wanted) await new Promise<void>((resolve) => waiting.push(resolve));
    return entries;
  };
  return { onAnswer, count };
}
