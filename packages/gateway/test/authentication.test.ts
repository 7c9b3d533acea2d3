import { GetObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { Sha256 } from '@smithy/core/checksum';
import { SignatureV4 } from '@smithy/signature-v4';
import { systemClock } from '@tiered/core';
import { readChannel } from '@tiered/core/tracing';
import { Gateway } from '@tiered/gateway';
import { describe, expect, it } from 'vitest';
import { BUCKET, clientOf, codeIn, CREDENTIALS, gatewayOn, hierarchyOn, send, sourceOf } from './helpers.js';

const OBJECT = Buffer.from('hello');
const GET = { Bucket: BUCKET, Key: 'a b/ü' };
const PATH = `/${BUCKET}/a%20b/%C3%BC`;

async function served(options: Partial<Parameters<typeof Gateway.start>[0]> = { credentials: CREDENTIALS }) {
  return gatewayOn(await hierarchyOn(await sourceOf({ [GET.Key]: OBJECT })), options);
}

function codeOf(answer: Promise<unknown>): Promise<string> {
  return answer.then(
    () => 'ok',
    (error: unknown) => (error as Error).name,
  );
}

/** The path and query of a presigned URL, as clients in any language make it. */
async function presigned(
  { endpoint }: Gateway,
  {
    secondsAgo = 0,
    expiresIn = 60,
    query = {},
    headers = {},
    host = new URL(endpoint).host,
    path = PATH,
  }: {
    readonly secondsAgo?: number;
    readonly expiresIn?: number;
    readonly query?: Record<string, string>;
    readonly headers?: Record<string, string>;
    readonly host?: string;
    readonly path?: string;
  } = {},
): Promise<string> {
  const signer = new SignatureV4({
    service: 's3',
    region: 'eu-central-1',
    credentials: CREDENTIALS,
    sha256: Sha256,
    uriEscapePath: false,
  });
  const now = performance.timeOrigin + systemClock.now();
  const signed = await signer.presign(
    {
      method: 'GET',
      protocol: 'http:',
      hostname: host,
      path,
      query,
      headers: { host, 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD', ...headers },
    },
    {
      expiresIn,
      signingDate: new Date(now - secondsAgo * 1000),
      unsignableHeaders: new Set(['x-amz-content-sha256']),
      unhoistableHeaders: new Set(['x-amz-content-sha256', ...Object.keys(headers)]),
    },
  );
  return `${path}?${new URLSearchParams(signed.query as Record<string, string>).toString()}`;
}

describe('signed requests', () => {
  it('[X3] are those of the SDK, for any region', async () => {
    const gateway = await served();
    for (const region of ['eu-central-1', 'us-east-1', 'auto']) {
      const client = clientOf(gateway, { region });
      const { Body } = await client.send(new GetObjectCommand({ ...GET, Range: 'bytes=0-3' }));
      expect(await Body?.transformToString()).toBe('hell');
      const { Contents } = await client.send(new ListObjectsV2Command({ Bucket: BUCKET, Delimiter: '+ /' }));
      expect(Contents?.map(({ Key }) => Key)).toEqual([GET.Key]);
    }
  });

  it('[X3] with other keys are refused, and those without', async () => {
    const gateway = await served();
    const secret = { ...CREDENTIALS, secretAccessKey: 'wrong' };
    const id = { ...CREDENTIALS, accessKeyId: 'OTHER' };
    const token = { ...CREDENTIALS, sessionToken: 'T' };
    const get = (credentials: typeof CREDENTIALS) =>
      codeOf(clientOf(gateway, { credentials }).send(new GetObjectCommand(GET)));
    expect(await get(secret)).toBe('SignatureDoesNotMatch');
    expect(await get(id)).toBe('InvalidAccessKeyId');
    expect(await get(token)).toBe('InvalidToken');
    const unsigned = await send(gateway, PATH);
    expect([unsigned.status, codeIn(unsigned)]).toEqual([403, 'AccessDenied']);
    expect((await send(gateway, '/')).status).toBe(403);
    expect((await send(gateway, PATH, { method: 'PUT', body: OBJECT })).status).toBe(403);
  });

  it('[X3] of a clock that is wrong are refused', async () => {
    const gateway = await served();
    const client = clientOf(gateway, { systemClockOffset: 16 * 60 * 1000 });
    expect(await codeOf(client.send(new GetObjectCommand(GET)))).toBe('RequestTimeTooSkewed');
  });
});

describe('presigned URLs', () => {
  it('[X3] need no header, until they expire', async () => {
    const gateway = await served();
    expect((await send(gateway, await presigned(gateway))).body).toEqual(OBJECT);
    const late = await presigned(gateway, { secondsAgo: 59 * 60, expiresIn: 60 * 60 });
    expect((await send(gateway, late)).status).toBe(200);
    const expired = await send(gateway, await presigned(gateway, { secondsAgo: 62 }));
    expect([expired.status, codeIn(expired)]).toEqual([403, 'AccessDenied']);
    const future = await send(gateway, await presigned(gateway, { secondsAgo: -16 * 60 }));
    expect([future.status, codeIn(future)]).toEqual([403, 'AccessDenied']);
  });

  it('[X3] are for one object and one query, and nobody can change them', async () => {
    const gateway = await served();
    const url = await presigned(gateway, { query: { partNumber: '1', 'x-id': 'GetObject' } });
    expect((await send(gateway, url)).status).toBe(206);
    const changes: [string, string][] = [
      ['partNumber=1', 'partNumber=2'],
      ['x-id=GetObject', 'x-id=Other'],
      ['%C3%BC?', 'other?'],
      ['X-Amz-Expires=60', 'X-Amz-Expires=61'],
      ['X-Amz-Expires=60', 'X-Amz-Expires=604801'],
      ['X-Amz-Signature=', 'X-Amz-Other='],
      ['X-Amz-SignedHeaders=host', 'X-Amz-SignedHeaders='],
      ['TIEREDTESTINGKEY', 'OTHER'],
    ];
    for (const [from, to] of changes) {
      expect(url).toContain(from);
      const answer = await send(gateway, url.replace(from, to));
      expect([from, to, [400, 403].includes(answer.status)]).toEqual([from, to, true]);
    }
    expect((await send(gateway, url, { headers: { host: 'localhost' } })).status).toBe(403);
    expect((await send(gateway, url, { method: 'HEAD' })).status).toBe(403);
    expect((await send(gateway, url, { headers: { 'x-amz-checksum-mode': 'ENABLED' } })).status).toBe(403);
  });

  it('[X3] may have signed headers', async () => {
    const gateway = await served();
    const headers = { 'x-amz-checksum-mode': 'ENABLED' };
    const url = await presigned(gateway, { headers });
    expect((await send(gateway, url, { headers })).body).toEqual(OBJECT);
    expect((await send(gateway, url)).status).toBe(403);
  });
});

describe('without credentials', () => {
  it('[X3] a gateway serves loopback alone, and says what to do', async () => {
    const hierarchy = await hierarchyOn(await sourceOf({}));
    for (const host of ['0.0.0.0', '::', '192.0.2.1'])
      await expect(Gateway.start({ buckets: { [BUCKET]: { hierarchy } }, host })).rejects.toMatchObject({
        code: 'TIERED_CONFIG_INVALID',
        message: expect.stringContaining('give credentials to serve others') as string,
      });
  });

  it('[X3] signed requests are answered too, and other host names are not', async () => {
    const gateway = await served({});
    const { Body } = await clientOf(gateway).send(new GetObjectCommand(GET));
    expect(await Body?.transformToString()).toBe('hello');
    for (const host of ['localhost', '127.0.0.1:80', '[::1]:80'])
      expect((await send(gateway, PATH, { headers: { host } })).status).toBe(200);
    const rebound = await send(gateway, PATH, { headers: { host: 'evil.example' } });
    expect([rebound.status, codeIn(rebound)]).toEqual([403, 'AccessDenied']);
  });

  it('knows the bucket before the host name', async () => {
    const gateway = await served({});
    const headers = { host: `${BUCKET}.localhost` };
    expect((await send(gateway, '/a%20b/%C3%BC', { headers })).body).toEqual(OBJECT);
    const signed = await served();
    const url = await presigned(signed, { host: headers.host, path: '/a%20b/%C3%BC' });
    expect((await send(signed, url, { headers })).body).toEqual(OBJECT);
    expect((await send(signed, url)).status).toBe(403);
  });
});

describe('a start that fails', () => {
  it('leaves nothing behind', async () => {
    const isTraced = readChannel.hasSubscribers;
    const first = await served({});
    const port = Number(new URL(first.endpoint).port);
    const hierarchy = await hierarchyOn(await sourceOf({}));
    const buckets = { [BUCKET]: { hierarchy } };
    await expect(Gateway.start({ buckets, port, metrics: { port: 0 } })).rejects.toMatchObject({
      code: 'EADDRINUSE',
    });
    const reason = new Error('enough');
    await expect(Gateway.start({ buckets, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    await first.close();
    expect(readChannel.hasSubscribers).toBe(isTraced);
    expect(hierarchy.listenerCount('closed')).toBe(0);
  });
});

describe('options', () => {
  it.each([
    [{ buckets: {} }, 'buckets'],
    [{ limits: { connections: 0 } }, 'connections'],
    [{ limits: { memory: 'much' } }, 'limits.memory'],
    [{ credentials: { accessKeyId: '', secretAccessKey: 'x' } }, 'credentials'],
  ] as const)('that cannot work are refused by name: %o', async (options, field) => {
    const buckets = { [BUCKET]: { hierarchy: await hierarchyOn(await sourceOf({})) } };
    await expect(Gateway.start({ buckets, ...(options as object) })).rejects.toMatchObject({
      code: 'TIERED_CONFIG_INVALID',
      message: expect.stringContaining(field) as string,
    });
  });

  it('name buckets as S3 does', async () => {
    const hierarchy = await hierarchyOn(await sourceOf({}));
    for (const name of ['-', 'ab', 'Data', 'a/b', 'data_1'])
      await expect(Gateway.start({ buckets: { [name]: { hierarchy } } })).rejects.toMatchObject({
        code: 'TIERED_CONFIG_INVALID',
      });
    const prefix = gatewayOn({ hierarchy, prefix: 'set' });
    await expect(prefix).rejects.toMatchObject({ code: 'TIERED_CONFIG_INVALID' });
  });
});
