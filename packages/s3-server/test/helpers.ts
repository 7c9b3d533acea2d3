import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { Sha256 } from '@smithy/core/checksum';
import { SignatureV4 } from '@smithy/signature-v4';
import { systemClock } from '@tiered/core';
import { S3Server, type S3ServerOptions } from '@tiered/s3-server';
import { onTestFinished } from 'vitest';

export const BUCKET = 'data';

/** A server with one bucket, closed when the test ends. */
export async function startServer(options: S3ServerOptions = {}): Promise<S3Server> {
  const server = await S3Server.start(options);
  onTestFinished(() => server.close());
  server.createBucket(BUCKET);
  return server;
}

/**
 * The AWS SDK, as its users set it up for other servers. It tries once, so that tests see what it was
 * answered.
 */
export function clientOf(server: S3Server, config: S3ClientConfig = {}): S3Client {
  const { endpoint, region, credentials } = server;
  const client = new S3Client({
    endpoint,
    region,
    credentials,
    forcePathStyle: true,
    maxAttempts: 1,
    ...config,
  });
  onTestFinished(() => client.destroy());
  return client;
}

/** What arrived, as it arrived: also when the connection broke off in the body. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The code of the error that ended the answer too early. */
  readonly brokenOffBy: string | undefined;
}

export interface RawRequest {
  readonly method?: string;
  /** As it stands in the request line. */
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

/** One request over a connection of its own, without a signature, exactly as given. */
export function send(
  server: S3Server,
  { method = 'GET', target, headers, body }: RawRequest,
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(server.endpoint);
    const outgoing = httpRequest({
      hostname,
      port,
      method,
      path: target,
      headers: { ...headers },
      agent: false,
    });
    outgoing.on('error', reject);
    outgoing.on('response', (incoming) => {
      // From here on the answer tells how it ended.
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

/** Milliseconds since 1970. */
export function machineTime(): number {
  return performance.timeOrigin + systemClock.now();
}

/** What came over a connection, byte for byte, and how it ended: `end` is an orderly one. */
export interface WireAnswer {
  readonly head: string;
  readonly body: Buffer;
  readonly endedBy: string;
}

/** Signs a GET and reads the connection until the server ends it. */
export async function readWire(
  server: S3Server,
  target: string,
  headers: Readonly<Record<string, string>>,
): Promise<WireAnswer> {
  const signed = await sign(server, { target, headers });
  const lines = Object.entries(signed).map(([name, value]) => `${name}: ${value}`);
  const socket = connect(Number(new URL(server.endpoint).port), '127.0.0.1');
  socket.write([`GET ${target} HTTP/1.1`, ...lines, '', ''].join('\r\n'));
  const pieces: Buffer[] = [];
  const endedBy = await new Promise<string>((resolve) => {
    socket.on('data', (piece: Buffer) => pieces.push(piece));
    socket.on('end', () => resolve('end'));
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''));
  });
  socket.destroy();
  const all = Buffer.concat(pieces);
  const split = all.indexOf('\r\n\r\n') + 4;
  return { head: all.toString('latin1', 0, split), body: all.subarray(split), endedBy };
}

/** Signs a request and sends it. `spoil` changes it in between, as somebody on the way would. */
export async function sendSigned(
  server: S3Server,
  request: RawRequest,
  spoil: (headers: Record<string, string>) => void = () => undefined,
): Promise<RawAnswer> {
  const headers = await sign(server, request);
  spoil(headers);
  return send(server, { ...request, headers });
}

async function sign(
  { endpoint, region, credentials }: S3Server,
  { method = 'GET', target, headers = {}, body }: RawRequest,
): Promise<Record<string, string>> {
  const { host } = new URL(endpoint);
  const [path = '', query = ''] = target.split('?', 2);
  const signer = new SignatureV4({
    service: 's3',
    region,
    credentials,
    sha256: Sha256,
    uriEscapePath: false,
  });
  const signed = await signer.sign(
    {
      method,
      protocol: 'http:',
      hostname: host,
      path,
      query: Object.fromEntries(new URLSearchParams(query)),
      headers: { host, ...headers },
      ...(body === undefined ? {} : { body }),
    },
    { signingDate: new Date(machineTime()) },
  );
  return signed.headers;
}

/** The code in an error document. */
export function codeIn({ body }: RawAnswer): string | undefined {
  return /<Code>([^<]*)<\/Code>/.exec(body.toString())?.[1];
}
