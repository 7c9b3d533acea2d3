import { GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { ManualClock } from '@tiered/core/testing';
import { S3Server } from '@tiered/s3-server';
import { describe, expect, it } from 'vitest';
import { BUCKET, clientOf, codeIn, sendSigned, startServer } from './helpers.js';

describe('the server', () => {
  it('knows how many requests are under way, and how many were at most', async () => {
    const clock = new ManualClock();
    const server = await startServer({ clock, faults: [{ fault: { kind: 'latency', medianMs: 10 } }] });
    server.put(BUCKET, 'k', Buffer.from('x'));
    const client = clientOf(server);
    const gets = [1, 2, 3].map(() => client.send(new GetObjectCommand({ Bucket: BUCKET, Key: 'k' })));
    while (clock.sleeping < 3) await clock.turn();
    expect([server.inFlight, server.mostInFlight, server.openSockets]).toEqual([3, 3, 3]);
    const answers = await clock.run(Promise.all(gets));
    for (const { Body } of answers) await Body?.transformToString();
    while (server.inFlight > 0) await clock.turn();
    expect(server.mostInFlight).toBe(3);
  });

  it('lets go of its port and of every connection when it is closed, also twice', async () => {
    const first = await S3Server.start();
    const port = Number(new URL(first.endpoint).port);
    first.createBucket(BUCKET);
    await clientOf(first).send(new PutObjectCommand({ Bucket: BUCKET, Key: 'k', Body: 'x' }));
    expect(first.openSockets).toBe(1);
    await first.close();
    await first.close();
    expect(first.openSockets).toBe(0);
    const second = await startServer({ port });
    expect(second.endpoint).toBe(`http://127.0.0.1:${port}`);
    await expect(S3Server.start({ port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  it('stores, shows and removes objects without a request', async () => {
    const server = await startServer();
    for (const key of ['b', 'a', '\u{1f600}', '\uffee']) server.put(BUCKET, key, Buffer.from(key));
    expect(server.keys(BUCKET)).toEqual(['a', 'b', '\uffee', '\u{1f600}']);
    expect(String(server.get(BUCKET, 'a'))).toBe('a');
    server.delete(BUCKET, 'a');
    expect(server.get(BUCKET, 'a')).toBeUndefined();
  });

  it('says what it cannot do', async () => {
    const server = await startServer();
    const answer = await sendSigned(server, { target: `/${BUCKET}/k?acl=` });
    expect([answer.status, codeIn(answer)]).toEqual([501, 'NotImplemented']);
    const headers = { 'x-amz-copy-source': `/${BUCKET}/other` };
    const copy = await sendSigned(server, { method: 'PUT', target: `/${BUCKET}/k`, headers });
    expect([copy.status, codeIn(copy)]).toEqual([501, 'NotImplemented']);
  });
});
