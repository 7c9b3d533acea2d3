import { MemoryDriver } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler } from '@tiered/tiering';
import { createHash } from 'node:crypto';
import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BUCKET, codeIn, gatewayOn, hierarchyOn, send, sourceOf } from './helpers.js';

const OBJECT = Buffer.from('0123456789');
const TARGET = `/${BUCKET}/k`;

async function served(objects: Readonly<Record<string, Uint8Array>> = { k: OBJECT }) {
  const hierarchy = await hierarchyOn(await sourceOf(objects));
  return { hierarchy, gateway: await gatewayOn(hierarchy) };
}

describe('objects', () => {
  it('[X1] give the bytes that pread gives, for any object, offset and length', async () => {
    const sizes = [0, 1, 255, 300];
    const objects = Object.fromEntries(sizes.map((size) => [`${size}`, someBytes(size, size)]));
    const { gateway } = await served(objects);
    const any = fc.record({
      size: fc.constantFrom(...sizes),
      offset: fc.nat({ max: 400 }),
      length: fc.integer({ min: 1, max: 400 }),
    });
    await fc.assert(
      fc.asyncProperty(any, async ({ size, offset, length }) => {
        const range = `bytes=${offset}-${offset + length - 1}`;
        const answer = await send(gateway, `/${BUCKET}/${size}`, { headers: { range } });
        const expected = Buffer.from(objects[`${size}`] ?? '').subarray(offset, offset + length);
        if (offset >= size) {
          expect([answer.status, answer.headers['content-range']]).toEqual([416, `bytes */${size}`]);
          return;
        }
        expect([answer.status, answer.headers['content-range']]).toEqual([
          206,
          `bytes ${offset}-${offset + expected.byteLength - 1}/${size}`,
        ]);
        expect(Buffer.compare(answer.body, expected)).toBe(0);
      }),
      { numRuns: 200 },
    );
  });

  it.each([
    ['bytes=-3', 206, '789'],
    ['bytes=7-', 206, '789'],
    ['bytes=0-1,3-4', 200, '0123456789'],
    ['lines=1-2', 200, '0123456789'],
    ['bytes=10-', 416, undefined],
  ])('[X1] answer the range %s as S3 does, with %i', async (range, status, text) => {
    const { gateway } = await served();
    const answer = await send(gateway, TARGET, { headers: { range } });
    expect(answer.status).toBe(status);
    if (text === undefined) expect(codeIn(answer)).toBe('InvalidRange');
    else expect(answer.body.toString()).toBe(text);
  });

  it('[X1] are whole over many pieces, from the source and from a tier', async () => {
    const large = someBytes(20 * 1024 * 1024 + 7, 1);
    const { gateway, hierarchy } = await served({ large });
    for (const from of ['source', 'ram']) {
      const { headers, body } = await send(gateway, `/${BUCKET}/large`);
      expect([headers['x-tiered-from'], body.byteLength]).toEqual([from, large.byteLength]);
      expect(Buffer.compare(body, large)).toBe(0);
      await hierarchy.idle();
    }
  });

  it('[X4] have the headers of S3, and HEAD has the same ones', async () => {
    const { gateway, hierarchy } = await served();
    await hierarchy.place('k');
    const { status, headers, body } = await send(gateway, TARGET);
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-length': '10',
      'content-type': 'binary/octet-stream',
      'accept-ranges': 'bytes',
      'last-modified': 'Thu, 01 Jan 1970 00:00:00 GMT',
      'x-tiered-from': 'ram',
      'server-timing': expect.stringMatching(/^tiered;dur=[\d.]+$/) as string,
    });
    expect(body).toEqual(OBJECT);
    const head = await send(gateway, TARGET, { method: 'HEAD' });
    const without = (all: object) => ({
      ...all,
      ...{ date: '', 'server-timing': '', 'x-amz-request-id': '' },
    });
    expect([head.status, head.body.byteLength]).toEqual([200, 0]);
    expect(without(head.headers)).toEqual(without(headers));
  });

  it('[X1] have a strong ETag, made of their version, and no client takes it for an MD5', async () => {
    const { gateway, hierarchy } = await served({ a: OBJECT, b: Buffer.from('other') });
    const etagOf = async (key: string) =>
      (await send(gateway, `/${BUCKET}/${key}`, { method: 'HEAD' })).headers['etag'];
    const { version } = await hierarchy.stat('a');
    const made = createHash('sha256').update(version).digest('hex').slice(0, 32);
    expect(await etagOf('a')).toBe(`"${made}-1"`);
    expect(await etagOf('b')).not.toBe(await etagOf('a'));
  });

  it('of a directory have the time of their file', async () => {
    const root = await mkdtemp(path.join(os.tmpdir(), 'tiered-gateway-'));
    onTestFinished(() => rm(root, { recursive: true }));
    await writeFile(path.join(root, 'k'), OBJECT);
    const time = new Date('2020-05-06T07:08:09Z');
    await utimes(path.join(root, 'k'), time, time);
    const gateway = await gatewayOn(await hierarchyOn(new FileSystemDriver({ root })));
    const { headers } = await send(gateway, TARGET);
    expect(headers['last-modified']).toBe('Wed, 06 May 2020 07:08:09 GMT');
    const statusOf = async (name: string, value: Date) =>
      (await send(gateway, TARGET, { headers: { [name]: value.toUTCString() } })).status;
    const before = new Date(time.getTime() - 1000);
    expect(await statusOf('if-modified-since', time)).toBe(304);
    expect(await statusOf('if-modified-since', before)).toBe(200);
    expect(await statusOf('if-unmodified-since', time)).toBe(200);
    expect(await statusOf('if-unmodified-since', before)).toBe(412);
  });

  it('are compared with If-Match and If-None-Match', async () => {
    const { gateway } = await served();
    const { headers } = await send(gateway, TARGET, { method: 'HEAD' });
    const etag = headers['etag'] ?? '';
    const statusOf = async (conditions: Record<string, string>) =>
      (await send(gateway, TARGET, { headers: conditions })).status;
    expect(await statusOf({ 'if-match': etag })).toBe(200);
    expect(await statusOf({ 'if-match': '"other"' })).toBe(412);
    expect(await statusOf({ 'if-none-match': etag })).toBe(304);
    expect(await statusOf({ 'if-none-match': '"other"' })).toBe(200);
    // The time is not known, so that dates mean nothing.
    expect(await statusOf({ 'if-modified-since': new Date(4e12).toUTCString() })).toBe(200);
  });

  it('have one part', async () => {
    const { gateway } = await served({ k: OBJECT, empty: Buffer.alloc(0) });
    const part = await send(gateway, `${TARGET}?partNumber=1`);
    expect([part.status, part.headers['content-range'], part.headers['x-amz-mp-parts-count']]).toEqual([
      206,
      'bytes 0-9/10',
      '1',
    ]);
    expect(part.body).toEqual(OBJECT);
    expect((await send(gateway, `/${BUCKET}/empty?partNumber=1`)).status).toBe(200);
    expect(codeIn(await send(gateway, `${TARGET}?partNumber=2`))).toBe('InvalidPartNumber');
    expect(codeIn(await send(gateway, `${TARGET}?partNumber=0`))).toBe('InvalidArgument');
  });

  it('have the headers that the query asks for, as presigned downloads do', async () => {
    const { gateway } = await served();
    const query =
      'response-content-type=text/plain&response-content-disposition=attachment%3B%20filename%3D%22a%22';
    const { headers } = await send(gateway, `${TARGET}?${query}`);
    expect(headers).toMatchObject({
      'content-type': 'text/plain',
      'content-disposition': 'attachment; filename="a"',
    });
    const split = await send(gateway, `${TARGET}?response-expires=a%0D%0Ax-other:%20b`);
    expect([split.status, codeIn(split)]).toEqual([400, 'InvalidArgument']);
  });

  it('that are not there are 404, whatever their keys look like', async () => {
    const root = await mkdtemp(path.join(os.tmpdir(), 'tiered-gateway-'));
    onTestFinished(() => rm(root, { recursive: true }));
    await writeFile(path.join(root, 'k'), OBJECT);
    const gateway = await gatewayOn(await hierarchyOn(new FileSystemDriver({ root })));
    for (const key of ['none', '../k', '%2e%2e/k', 'k/below', '/k', 'k%00']) {
      const answer = await send(gateway, `/${BUCKET}/${key}`);
      expect([key, answer.status, codeIn(answer)]).toEqual([key, 404, 'NoSuchKey']);
    }
    expect(codeIn(await send(gateway, '/other/k'))).toBe('NoSuchBucket');
    expect(codeIn(await send(gateway, `/${BUCKET}/%ff`))).toBe('InvalidURI');
  });

  it('[X1] are below the prefix of their bucket, and nowhere else', async () => {
    const hierarchy = await hierarchyOn(await sourceOf({ k: OBJECT }));
    const gateway = await gatewayOn({ hierarchy, prefix: 'set/' });
    expect((await send(gateway, `/${BUCKET}/set/k`)).body).toEqual(OBJECT);
    for (const key of ['k', 'set/', 'set', 'set/set/k', 'set/../k'])
      expect((await send(gateway, `/${BUCKET}/${key}`)).status).not.toBe(200);
    const listed = await send(gateway, `/${BUCKET}?list-type=2&delimiter=/`);
    expect(listed.body.toString()).toContain('<CommonPrefixes><Prefix>set/</Prefix></CommonPrefixes>');
  });
});

describe('cache-control: only-if-cached', () => {
  const headers = { 'cache-control': 'max-age=0, only-if-cached' };

  it('[X4] gives 504 for what is on no tier, without a request to the source', async () => {
    const { gateway, hierarchy } = await served();
    const before = hierarchy.stats().source.reads;
    for (const key of ['k', 'unknown'])
      expect((await send(gateway, `/${BUCKET}/${key}`, { headers })).status).toBe(504);
    expect(hierarchy.stats().source.reads).toBe(before);
    await hierarchy.place('k');
    const answer = await send(gateway, TARGET, { headers });
    expect([answer.status, answer.headers['x-tiered-from']]).toEqual([200, 'ram']);
  });

  it('[X4] gives 504 where the tier has lost the copy', async () => {
    const tier = new MemoryDriver();
    const hierarchy = await hierarchyOn(await sourceOf({ k: OBJECT }), {
      tiers: [{ driver: tier, quota: '1MiB' }],
      placement: new PlacementHandler(),
    });
    const gateway = await gatewayOn(hierarchy);
    await hierarchy.place('k');
    for await (const page of tier.list({})) for (const { key } of page) await tier.delete(key, {});
    hierarchy.on('tierFault', () => undefined);
    expect((await send(gateway, TARGET, { headers })).status).toBe(504);
  });
});

describe('writes', () => {
  it.each(['PUT', 'POST', 'DELETE'])('[X3] %s is refused, and says where to write', async (method) => {
    const { gateway } = await served();
    const body = method === 'DELETE' ? {} : { body: someBytes(100_000, 1) };
    const answer = await send(gateway, TARGET, { method, ...body });
    expect([answer.status, codeIn(answer)]).toEqual([403, 'AccessDenied']);
    expect(answer.body.toString()).toContain('This endpoint only reads.');
    expect((await send(gateway, TARGET)).body).toEqual(OBJECT);
  });

  it('are refused before the client has sent the body, if it asks', async () => {
    const { gateway } = await served();
    const headers = { expect: '100-continue', 'content-length': '10' };
    expect((await send(gateway, TARGET, { method: 'PUT', headers })).status).toBe(403);
  });
});
