import { someBytes } from '@tiered/core/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BUCKET, codeIn, sendSigned, startServer } from './helpers.js';

const TARGET = `/${BUCKET}/k`;

describe('ranges', () => {
  it('give the bytes that pread gives, for any object, offset and length', async () => {
    const server = await startServer();
    const size = fc.nat({ max: 300 });
    const position = fc.nat({ max: 400 });
    const length = fc.integer({ min: 1, max: 400 });
    await fc.assert(
      fc.asyncProperty(size, position, length, async (bytes, offset, wanted) => {
        const object = Buffer.from(someBytes(bytes, bytes));
        server.put(BUCKET, 'k', object);
        const range = `bytes=${offset}-${offset + wanted - 1}`;
        const { status, body, headers } = await sendSigned(server, { target: TARGET, headers: { range } });
        if (offset >= bytes) {
          expect([status, headers['content-range']]).toEqual([416, `bytes */${bytes}`]);
          return;
        }
        const expected = object.subarray(offset, offset + wanted);
        const last = offset + expected.byteLength - 1;
        expect([status, headers['content-range']]).toEqual([206, `bytes ${offset}-${last}/${bytes}`]);
        expect(Buffer.compare(body, expected)).toBe(0);
      }),
      { numRuns: 200 },
    );
  });

  it.each([
    ['bytes=7-', 206, 'bytes 7-9/10', '789'],
    ['bytes=-3', 206, 'bytes 7-9/10', '789'],
    ['bytes=-30', 206, 'bytes 0-9/10', '0123456789'],
    ['bytes=0-0', 206, 'bytes 0-0/10', '0'],
    ['bytes=0-99', 206, 'bytes 0-9/10', '0123456789'],
    ['bytes=5-4', 200, undefined, '0123456789'],
    ['bytes=0-1,4-5', 200, undefined, '0123456789'],
    ['lines=0-1', 200, undefined, '0123456789'],
    ['bytes=-', 200, undefined, '0123456789'],
  ])('%s of ten bytes is %i', async (range, status, contentRange, body) => {
    const server = await startServer();
    server.put(BUCKET, 'k', Buffer.from('0123456789'));
    const answer = await sendSigned(server, { target: TARGET, headers: { range } });
    expect([answer.status, answer.headers['content-range'], answer.body.toString()]).toEqual([
      status,
      contentRange,
      body,
    ]);
    expect(answer.headers['content-length']).toBe(String(body.length));
  });

  it('without a byte are 416', async () => {
    const server = await startServer();
    server.put(BUCKET, 'k', Buffer.from('0123456789'));
    for (const range of ['bytes=10-', 'bytes=-0', 'bytes=10-20']) {
      const answer = await sendSigned(server, { target: TARGET, headers: { range } });
      expect([answer.status, codeIn(answer), answer.headers['content-range']]).toEqual([
        416,
        'InvalidRange',
        'bytes */10',
      ]);
    }
  });

  it('of a HEAD tell the length of the part', async () => {
    const server = await startServer();
    server.put(BUCKET, 'k', Buffer.from('0123456789'));
    const headers = { range: 'bytes=2-4' };
    const answer = await sendSigned(server, { method: 'HEAD', target: TARGET, headers });
    expect([answer.status, answer.headers['content-length'], answer.body.byteLength]).toEqual([206, '3', 0]);
  });
});
