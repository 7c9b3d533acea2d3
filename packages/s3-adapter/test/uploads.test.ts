import { MemoryDriver } from '@tiered/core';
import { multipartWritesOf } from '@tiered/core/driver';
import { someBytes } from '@tiered/core/testing';
import { describe, expect, it } from 'vitest';
import { BUCKET, place } from './helpers.js';

const PART = 5 * 2 ** 20;
const BYTES = someBytes(2 * PART + 9, 3);

describe('uploads of others', () => {
  it('are put together of the parts that are named, also one after a fault', async () => {
    const { server, driver, clock } = await place({ prefix: 'below/' });
    const status = { kind: 'status', status: 503, code: 'SlowDown' } as const;
    server.faults.set([{ operation: 'UploadPart', times: 1, fault: status }]);
    const id = await driver.createUpload('a', {});
    const parts = [];
    for (const number of [1, 2, 3]) {
      const bytes = BYTES.subarray((number - 1) * PART, number * PART);
      const etag = await clock.run(driver.writePart('a', id, { number, bytes }, {}));
      // Clients leave the quotes out.
      parts.push({ number, etag: etag.replaceAll('"', '') });
    }
    expect(server.keys(BUCKET)).toEqual([]);
    await driver.completeUpload('a', id, parts, {});
    expect(Buffer.compare(server.get(BUCKET, 'below/a') ?? Buffer.alloc(0), BYTES)).toBe(0);
    expect(server.openUploads).toBe(0);
  });

  it('end with their parts when they are aborted', async () => {
    const { server, driver } = await place();
    const id = await driver.createUpload('a', {});
    await driver.writePart('a', id, { number: 1, bytes: BYTES.subarray(0, PART) }, {});
    await driver.abortUpload('a', id, {});
    expect([server.openUploads, server.keys(BUCKET)]).toEqual([0, []]);
  });

  it('say by their cause what the bucket says: no such upload, no such part, too small a part', async () => {
    const { driver } = await place();
    const causedBy = (status: number, code: string) =>
      expect.objectContaining({
        key: 'a',
        cause: expect.objectContaining({ status, code }) as Error,
      }) as Error;
    const missing = driver.completeUpload('a', 'none', [{ number: 1, etag: 'x' }], {});
    await expect(missing).rejects.toEqual(causedBy(404, 'NoSuchUpload'));
    await expect(driver.abortUpload('a', 'none', {})).rejects.toEqual(causedBy(404, 'NoSuchUpload'));
    const id = await driver.createUpload('a', {});
    await expect(driver.completeUpload('a', id, [{ number: 1, etag: 'x' }], {})).rejects.toEqual(
      causedBy(400, 'InvalidPart'),
    );
    const parts = [];
    for (const number of [1, 2])
      parts.push({
        number,
        etag: await driver.writePart('a', id, { number, bytes: BYTES.subarray(0, 9) }, {}),
      });
    await expect(driver.completeUpload('a', id, parts, {})).rejects.toEqual(causedBy(400, 'EntityTooSmall'));
  });

  it('are refused by a driver that may not write, and are not for drivers without them', async () => {
    const { driver } = await place({ writable: false });
    await expect(driver.createUpload('a', {})).rejects.toMatchObject({ code: 'TIERED_UNSUPPORTED' });
    expect(multipartWritesOf(driver)).toBe(driver);
    expect(multipartWritesOf(new MemoryDriver())).toBeUndefined();
  });
});
