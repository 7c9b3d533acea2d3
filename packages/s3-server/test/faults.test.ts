import { ManualClock, someBytes } from '@tiered/core/testing';
import { S3Server, type Fault, type FaultPlan, type S3ServerOptions } from '@tiered/s3-server';
import { describe, expect, it } from 'vitest';
import { BUCKET, codeIn, readWire, sendSigned, startServer, type RawRequest } from './helpers.js';

const TARGET = `/${BUCKET}/k`;
const BYTES = Buffer.from(someBytes(1000, 3));
const MIDDLE = { range: 'bytes=100-299' };

async function serverWith(faults: FaultPlan, options: S3ServerOptions = {}) {
  const server = await startServer({ faults, ...options });
  server.put(BUCKET, 'k', BYTES);
  const get = (more: Partial<RawRequest> = {}) => sendSigned(server, { target: TARGET, ...more });
  return { server, get };
}

const once = (fault: Fault): FaultPlan => [{ fault, times: 1 }];

const truncated = async (bytes: number) => (await serverWith(once({ kind: 'truncate', bytes }))).server;

describe('faults on the wire', () => {
  it('status: an error in the place of the operation', async () => {
    const { server, get } = await serverWith(
      once({ kind: 'status', status: 503, code: 'SlowDown', retryAfter: 2 }),
    );
    const answer = await get({ method: 'DELETE' });
    expect([answer.status, codeIn(answer), answer.headers['retry-after']]).toEqual([503, 'SlowDown', '2']);
    expect(server.keys(BUCKET)).toEqual(['k']);
    expect((await get()).status).toBe(200);
    expect(server.faults.injected).toEqual({ status: 1 });
  });

  it('latency: the operation waits on the clock, and a client that goes away ends the wait', async () => {
    const clock = new ManualClock();
    const { server, get } = await serverWith([{ fault: { kind: 'latency', medianMs: 50 } }], { clock });
    expect((await clock.run(get())).status).toBe(200);
    expect(clock.now()).toBe(50);
    const waiting = get().catch((error: unknown) => error);
    while (clock.sleeping === 0) await clock.turn();
    expect(server.inFlight).toBe(1);
    await server.close();
    expect(await waiting).toMatchObject({ code: 'ECONNRESET' });
    expect([clock.sleeping, server.inFlight, server.openSockets]).toEqual([0, 0, 0]);
  });

  it('latency: half are below the median, and one in a hundred above its multiple', async () => {
    const clock = new ManualClock();
    const plan: FaultPlan = [{ fault: { kind: 'latency', medianMs: 10, p99OverMedian: 5 } }];
    const { get } = await serverWith(plan, { clock, seed: 1 });
    const waits: number[] = [];
    for (let i = 0; i < 500; i++) {
      const before = clock.now();
      await clock.run(get({ method: 'HEAD' }));
      waits.push(clock.now() - before);
    }
    const below = (ms: number) => waits.filter((wait) => wait < ms).length / waits.length;
    expect(Math.abs(below(10) - 0.5)).toBeLessThan(0.07);
    expect(Math.abs(below(50) - 0.99)).toBeLessThan(0.01);
  });

  it('reset: so many bytes under the whole Content-Length, then a RST', async () => {
    const { server } = await serverWith(once({ kind: 'reset', afterBytes: 50 }));
    const { head, body, endedBy } = await readWire(server, TARGET, MIDDLE);
    expect(head).toContain('HTTP/1.1 206 ');
    expect(head).toContain('Content-Length: 200\r\n');
    expect([body, endedBy]).toEqual([BYTES.subarray(100, 150), 'ECONNRESET']);
  });

  it('reset after 0 bytes: the operation happened, and nothing is heard of it', async () => {
    const { server, get } = await serverWith(once({ kind: 'reset', afterBytes: 0 }));
    await expect(get({ method: 'PUT', body: Buffer.from('new') })).rejects.toMatchObject({
      code: 'ECONNRESET',
    });
    expect(String(server.get(BUCKET, 'k'))).toBe('new');
  });

  it('truncate: a 206 that ends before its Content-Length, in good order', async () => {
    const { head, body, endedBy } = await readWire(await truncated(150), TARGET, MIDDLE);
    expect(head).toContain('HTTP/1.1 206 ');
    expect(head).toContain('Content-Length: 200\r\n');
    expect([body, endedBy]).toEqual([BYTES.subarray(100, 250), 'end']);
    expect((await readWire(await truncated(0), TARGET, MIDDLE)).body).toHaveLength(0);
  });

  it('shortBody: a whole answer, with fewer bytes than its Content-Range says', async () => {
    const { get } = await serverWith(once({ kind: 'shortBody', bytes: 150 }));
    const { status, headers, body, brokenOffBy } = await get({ headers: MIDDLE });
    expect([status, headers['content-length'], brokenOffBy]).toEqual([206, '150', undefined]);
    expect(headers['content-range']).toBe('bytes 100-299/1000');
    expect(body).toEqual(BYTES.subarray(100, 250));
  });

  it('wrongRange: other bytes than were asked for, and it says so', async () => {
    const { get } = await serverWith([{ fault: { kind: 'wrongRange' } }]);
    const { headers, body } = await get({ headers: MIDDLE });
    expect([headers['content-range'], body]).toEqual(['bytes 101-300/1000', BYTES.subarray(101, 301)]);
    const atEnd = await get({ headers: { range: 'bytes=-10' } });
    expect([atEnd.headers['content-range'], atEnd.body]).toEqual([
      'bytes 989-998/1000',
      BYTES.subarray(989, 999),
    ]);
    const whole = await get({ headers: { range: 'bytes=0-' } });
    expect([whole.headers['content-range'], whole.body]).toEqual(['bytes 1-1000/1001', BYTES]);
  });

  it('wrongEtag: the right bytes under another ETag', async () => {
    const { get } = await serverWith(once({ kind: 'wrongEtag' }));
    const [wrong, right] = [await get(), await get()];
    expect(wrong.headers.etag).not.toBe(right.headers.etag);
    expect([wrong.status, wrong.body]).toEqual([200, BYTES]);
  });

  it('changeMidObject: old bytes, a reset, and another object from then on', async () => {
    const { server, get } = await serverWith([]);
    const { etag = '' } = (await get()).headers;
    server.faults.set(once({ kind: 'changeMidObject', afterBytes: 70 }));
    const headers = { ...MIDDLE, 'if-match': etag };
    const broken = await get({ headers });
    expect([broken.status, broken.headers.etag, broken.brokenOffBy]).toEqual([206, etag, 'ECONNRESET']);
    expect(broken.body).toEqual(BYTES.subarray(100, 170));
    expect((await get({ headers })).status).toBe(412);
    const { body } = await get();
    expect(body).toEqual(Buffer.from(BYTES.map((byte) => ~byte)));
  });

  it('corrupt: one byte is another one, and the object is not harmed', async () => {
    const { server, get } = await serverWith(once({ kind: 'corrupt' }));
    const { body, status } = await get();
    expect(status).toBe(200);
    expect([...body].filter((byte, index) => byte !== BYTES[index])).toHaveLength(1);
    expect(server.get(BUCKET, 'k')).toEqual(BYTES);
  });

  it('ignoreIfMatch: what a read or a write wanted the object to be counts for nothing', async () => {
    const { server, get } = await serverWith([{ fault: { kind: 'ignoreIfMatch' } }]);
    expect((await get({ headers: { 'if-match': '"other"' } })).status).toBe(200);
    const headers = { 'if-none-match': '*' };
    expect((await get({ method: 'PUT', headers, body: Buffer.from('new') })).status).toBe(200);
    expect(String(server.get(BUCKET, 'k'))).toBe('new');
  });

  it('errorIn200: the upload is not completed though the status says so', async () => {
    const { server, get } = await serverWith(once({ kind: 'errorIn200' }));
    const created = await get({ method: 'POST', target: `${TARGET}?uploads=` });
    const id = /<UploadId>(\w+)</.exec(created.body.toString())?.[1] ?? '';
    const target = `${TARGET}?uploadId=${id}`;
    const part = await get({
      method: 'PUT',
      target: `${TARGET}?partNumber=1&uploadId=${id}`,
      body: Buffer.from('x'),
    });
    const parts = `<Part><PartNumber>1</PartNumber><ETag>${part.headers.etag}</ETag></Part>`;
    const body = Buffer.from(`<CompleteMultipartUpload>${parts}</CompleteMultipartUpload>`);
    const failed = await get({ method: 'POST', target, body });
    expect([failed.status, codeIn(failed), server.openUploads]).toEqual([200, 'InternalError', 1]);
    expect((await get({ method: 'POST', target, body })).body.toString()).toContain('ETag');
    expect(String(server.get(BUCKET, 'k'))).toBe('x');
  });
});

describe('fault plans', () => {
  const slowDown: Fault = { kind: 'status', status: 503, code: 'SlowDown' };

  async function statuses(server: S3Server, count: number, target = TARGET): Promise<number[]> {
    const found: number[] = [];
    for (let i = 0; i < count; i++) found.push((await sendSigned(server, { target })).status);
    return found;
  }

  it('let requests through first, strike so many times, and then no more', async () => {
    const { server } = await serverWith([{ fault: slowDown, after: 2, times: 1 }]);
    expect(await statuses(server, 4)).toEqual([200, 200, 503, 200]);
  });

  it('strike the operations and keys they name', async () => {
    const { server } = await serverWith([
      { fault: slowDown, operation: 'HeadObject' },
      { fault: slowDown, key: 'other' },
      { fault: slowDown, key: /^re/g },
    ]);
    server.put(BUCKET, 'other', BYTES);
    server.put(BUCKET, 'regular', BYTES);
    expect(await statuses(server, 1)).toEqual([200]);
    expect((await sendSigned(server, { method: 'HEAD', target: TARGET })).status).toBe(503);
    expect(await statuses(server, 1, `/${BUCKET}/other`)).toEqual([503]);
    expect(await statuses(server, 2, `/${BUCKET}/regular`)).toEqual([503, 503]);
  });

  it('strike by chance, the same requests for the same seed', async () => {
    const faults: FaultPlan = [{ fault: slowDown, probability: 0.5 }];
    const runs: number[][] = [];
    for (const seed of [1, 1, 2]) {
      const { server } = await serverWith(faults, { seed });
      expect(server.seed).toBe(seed);
      runs.push(await statuses(server, 30));
    }
    expect(runs[1]).toEqual(runs[0]);
    expect(runs[2]).not.toEqual(runs[0]);
    expect(new Set(runs[0])).toEqual(new Set([200, 503]));
  });

  it('add latencies to the first other fault that matches', async () => {
    const clock = new ManualClock();
    const latency: Fault = { kind: 'latency', medianMs: 5 };
    const teapot: Fault = { kind: 'status', status: 418, code: 'Teapot' };
    const plan: FaultPlan = [{ fault: slowDown }, { fault: latency }, { fault: teapot }, { fault: latency }];
    const { server, get } = await serverWith(plan, { clock });
    expect((await clock.run(get())).status).toBe(503);
    expect(clock.now()).toBe(10);
    expect(server.faults.injected).toEqual({ status: 1, latency: 2 });
  });

  it('do not befall those without the right to ask', async () => {
    const { server } = await serverWith([{ fault: slowDown, times: 1 }]);
    const spoilt = await sendSigned(server, { target: TARGET }, (headers) => (headers['x-amz-date'] = ''));
    expect(spoilt.status).toBe(403);
    expect(await statuses(server, 2)).toEqual([503, 200]);
  });

  it.each([
    { fault: slowDown, probability: 1.5 },
    { fault: slowDown, times: -1 },
    { fault: slowDown, after: NaN },
    { fault: { kind: 'corrupt' }, operation: 'PutObject' },
    { fault: { kind: 'latency', medianMs: -1 } },
    { fault: { kind: 'latency', medianMs: 1, p99OverMedian: 0.5 } },
  ] as const)('refuse %j, which can never apply', async (rule) => {
    const { server } = await serverWith([]);
    expect(() => server.faults.set([rule])).toThrow(
      expect.objectContaining({ code: 'TIERED_CONFIG_INVALID' }),
    );
  });
});
