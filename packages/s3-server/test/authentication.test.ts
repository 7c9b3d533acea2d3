import { GetObjectCommand, type GetObjectCommandInput, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { describe, expect, it } from 'vitest';
import { BUCKET, clientOf, codeIn, machineTime, send, sendSigned, startServer } from './helpers.js';

const MINUTE_MS = 60_000;
const TARGET = `/${BUCKET}/k`;

async function serverWithObject(options: Parameters<typeof startServer>[0] = {}) {
  const server = await startServer(options);
  server.put(BUCKET, 'k', Buffer.from('hello'));
  return server;
}

const GET: GetObjectCommandInput = { Bucket: BUCKET, Key: 'k' };

describe('authentication', () => {
  it('refuses another secret, and another key', async () => {
    const server = await serverWithObject();
    const wrongSecret = clientOf(server, {
      credentials: { ...server.credentials, secretAccessKey: 'other' },
    });
    await expect(wrongSecret.send(new GetObjectCommand(GET))).rejects.toMatchObject({
      name: 'SignatureDoesNotMatch',
      $metadata: { httpStatusCode: 403 },
    });
    const wrongKey = clientOf(server, { credentials: { ...server.credentials, accessKeyId: 'other' } });
    await expect(wrongKey.send(new GetObjectCommand(GET))).rejects.toMatchObject({
      name: 'InvalidAccessKeyId',
    });
    expect(server.requests).toMatchObject({ refused: 2, GetObject: 0 });
  });

  it('takes a clock that is a quarter of an hour off, and not more', async () => {
    const near = await serverWithObject({ clockSkewMs: 14 * MINUTE_MS });
    expect((await sendSigned(near, { target: TARGET })).status).toBe(200);
    const far = await serverWithObject({ clockSkewMs: -16 * MINUTE_MS });
    const answer = await sendSigned(far, { target: TARGET });
    expect([answer.status, codeIn(answer)]).toEqual([403, 'RequestTimeTooSkewed']);
    expect(far.requests.refused).toBe(1);
  });

  it('says in Date what time the server thinks it is, so that a client can correct its own', async () => {
    const server = await serverWithObject({ clockSkewMs: 60 * MINUTE_MS });
    const { headers } = await sendSigned(server, { target: TARGET });
    const ahead = Date.parse(headers.date ?? '') - machineTime();
    expect(ahead).toBeGreaterThan(58 * MINUTE_MS);
    const client = clientOf(server, { maxAttempts: 2 });
    expect((await client.send(new GetObjectCommand(GET))).ContentLength).toBe(5);
    expect(server.requests).toMatchObject({ refused: 2, GetObject: 1 });
  });

  it('refuses what was changed on the way', async () => {
    const server = await serverWithObject();
    const target = `/${BUCKET}/other`;
    const changed = await sendSigned(server, { target, headers: { range: 'bytes=0-1' } }, (headers) => {
      headers['range'] = 'bytes=0-3';
    });
    expect(codeIn(changed)).toBe('SignatureDoesNotMatch');
    const added = await sendSigned(server, { target }, (headers) => {
      headers['x-amz-meta-more'] = '1';
    });
    expect([added.status, codeIn(added)]).toEqual([403, 'AccessDenied']);
    expect(added.body.toString()).toContain('<HeadersNotSigned>x-amz-meta-more</HeadersNotSigned>');
  });

  it('refuses a region and an Authorization that cannot be', async () => {
    const server = await serverWithObject();
    const elsewhere = clientOf(server, { region: 'eu-west-1' });
    await expect(elsewhere.send(new GetObjectCommand(GET))).rejects.toMatchObject({
      name: 'AuthorizationHeaderMalformed',
      Region: 'us-east-1',
    });
    const broken = await send(server, { target: TARGET, headers: { authorization: 'AWS4-HMAC-SHA256 x' } });
    expect([broken.status, codeIn(broken)]).toEqual([400, 'AuthorizationHeaderMalformed']);
    const undated = await sendSigned(server, { target: TARGET }, (headers) => delete headers['x-amz-date']);
    expect([undated.status, codeIn(undated)]).toEqual([403, 'AccessDenied']);
  });

  it('wants the session token of its credentials, as long as it has not expired', async () => {
    const credentials = { accessKeyId: 'A', secretAccessKey: 'S', sessionToken: 'T' };
    const server = await serverWithObject({ credentials });
    expect((await sendSigned(server, { target: TARGET })).status).toBe(200);
    const code = async (sessionToken: string | undefined) => {
      const { accessKeyId, secretAccessKey } = credentials;
      const given = { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) };
      const client = clientOf(server, { credentials: given });
      return client.send(new GetObjectCommand(GET)).then(
        () => 'ok',
        (error: unknown) => (error as Error).name,
      );
    };
    expect([await code('T'), await code('other'), await code(undefined)]).toEqual([
      'ok',
      'InvalidToken',
      'InvalidToken',
    ]);
    server.credentials = { ...credentials, expiration: new Date(machineTime() - 1) };
    expect(await code('T')).toBe('ExpiredToken');
  });

  it('lets everybody read from a public bucket, and nothing else', async () => {
    const server = await serverWithObject();
    const closed = await send(server, { target: TARGET });
    expect([closed.status, codeIn(closed)]).toEqual([403, 'AccessDenied']);
    server.createBucket('open', { public: true });
    server.put('open', 'k', Buffer.from('hello'));
    expect((await send(server, { target: '/open/k' })).body.toString()).toBe('hello');
    expect((await send(server, { target: '/open?list-type=2' })).status).toBe(200);
    expect((await send(server, { method: 'PUT', target: '/open/k', body: Buffer.from('x') })).status).toBe(
      403,
    );
    expect((await send(server, { method: 'DELETE', target: '/open/k' })).status).toBe(403);
  });

  it('wants requesters to say that they pay, if they must', async () => {
    const server = await serverWithObject({ requesterPays: true });
    const client = clientOf(server);
    await expect(client.send(new GetObjectCommand(GET))).rejects.toMatchObject({ name: 'AccessDenied' });
    const paid = await client.send(new GetObjectCommand({ ...GET, RequestPayer: 'requester' }));
    expect(paid.RequestCharged).toBe('requester');
  });

  it('knows the bucket before the host name', async () => {
    const server = await serverWithObject();
    server.createBucket('open.data', { public: true });
    server.put('open.data', 'a//b', Buffer.from('hello'));
    const get = async (host: string, target: string) => send(server, { target, headers: { host } });
    expect((await get('open.data.localhost', '/a//b')).body.toString()).toBe('hello');
    expect((await get('open.data.s3.example.org:8080', '/a//b')).body.toString()).toBe('hello');
    expect(codeIn(await get('nothing.localhost', '/a'))).toBe('AccessDenied');
    expect((await get('localhost', '/open.data/a//b')).status).toBe(200);
  });

  it('lets the SDK list what is there', async () => {
    const server = await serverWithObject();
    const { Contents } = await clientOf(server).send(new ListObjectsV2Command({ Bucket: BUCKET }));
    expect(Contents?.map(({ Key }) => Key)).toEqual(['k']);
  });
});
