import type { ServerResponse } from 'node:http';
import { ManualClock } from '@tiered/core/testing';
import { describe, expect, it } from 'vitest';
import { answering, driverOn, keysOf } from './helpers.js';

const MIB = 2 ** 20;

/** Counts how often work in progress let others have their turn. */
class CountingClock extends ManualClock {
  turns = 0;

  override turn(): Promise<void> {
    this.turns += 1;
    return super.turn();
  }
}

const listing = (content: string) => `<ListBucketResult>${content}</ListBucketResult>`;
const object = (key: string) => `<Contents><Key>${key}</Key><Size>1</Size><ETag>"x"</ETag></Contents>`;

/** Sends text for as long as somebody takes it. */
function sendForEver(response: ServerResponse, text: string): void {
  const more = () => {
    while (!response.destroyed && response.write(text));
    if (!response.destroyed) response.once('drain', more);
  };
  more();
}

describe('XML that is made to take long', () => {
  it('[O8] takes time in proportion to its size: deep elements, long names, many entities', async () => {
    const long = 'n'.repeat(40_000);
    for (const content of [
      '<a><b/>'.repeat(400_000) + '</a>'.repeat(400_000),
      `<${long}>${'<b/>'.repeat(500_000)}</${long}>`,
      `<a>${'&amp;&#65;'.repeat(400_000)}</a>`,
      `<a ${Array.from({ length: 200_000 }, (_, i) => `a${i}="1"`).join(' ')}/>`,
      `<a>${'<![CDATA[]]>'.repeat(400_000)}</a>`,
    ]) {
      const endpoint = await answering((_, response) => response.end(listing(content + object('key'))));
      expect(await keysOf(await driverOn(endpoint, { attempts: 1 }))).toEqual(['key']);
    }
  });

  it('[O8] leaves the event loop to others between its parts', async () => {
    const clock = new CountingClock();
    const keys = Array.from({ length: 1000 }, (_, i) => `${'k'.repeat(1000)}${i}`);
    const text = listing(keys.map(object).join(''));
    const endpoint = await answering((_, response) => response.end(text));
    expect(await keysOf(await driverOn(endpoint, { clock, listConcurrency: 1 }))).toEqual(keys);
    expect(clock.turns).toBeGreaterThanOrEqual(Math.floor(text.length / 2 ** 15));
  });

  it('[O8] is not taken beyond what a page can need', async () => {
    const endpoint = await answering((_, response) => sendForEver(response.writeHead(200), ' '.repeat(MIB)));
    const driver = await driverOn(endpoint, { attempts: 2 });
    await expect(keysOf(driver)).rejects.toMatchObject({
      code: 'TIERED_DATA_CORRUPT',
      cause: { code: 'BodyTooLarge' },
    });
  });

  it('[O8] is not waited for where an error goes on for ever: its status says enough', async () => {
    const endpoint = await answering((_, response) => sendForEver(response.writeHead(403), 'x'.repeat(1000)));
    const driver = await driverOn(endpoint, { attempts: 2 });
    await expect(keysOf(driver)).rejects.toMatchObject({ code: 'TIERED_PERMISSION', attempts: 1 });
  });
});

describe('an answer that is announced again and again', () => {
  it('[O4] is not waited for longer than silence may last', async () => {
    for (const everyMs of [4_000, 100]) {
      const clock = new ManualClock();
      const endpoint = await answering((_, response) => {
        void (async () => {
          for (let said = 0; said < 30 && !response.destroyed; said++) {
            clock.pass(everyMs);
            response.writeProcessing();
            for (let turn = 0; turn < 5; turn++) await clock.turn();
          }
          response.writeHead(200, { etag: '"x"', 'content-length': 10 }).end(Buffer.alloc(10));
        })();
      });
      const driver = await driverOn(endpoint, { clock, attempts: 1 });
      const reading = driver.read('object', { offset: 0, length: 10 });
      if (everyMs === 100) expect(await reading).toHaveLength(10);
      else await expect(reading).rejects.toMatchObject({ cause: { code: 'TooSlow' } });
    }
  });
});

describe('an answer that trickles', () => {
  /**
   * A server that sends so many bytes of a body after every so many milliseconds, as long as somebody
   * listens.
   */
  async function trickling(clock: ManualClock, { bytes, everyMs }: { bytes: number; everyMs: number }) {
    let requests = 0;
    const endpoint = await answering((request, response) => {
      requests += 1;
      const [, from = '0'] = /bytes=(\d+)-/.exec(request.headers.range ?? '') ?? [];
      const range = { 'content-range': `bytes ${from}-999999/1000000` };
      response.writeHead(request.headers.range === undefined ? 200 : 206, {
        etag: '"x"',
        'content-length': 1_000_000 - Number(from),
        ...(request.headers.range !== undefined && range),
      });
      void (async () => {
        for (let sent = Number(from); sent < 1_000_000 && !response.destroyed; sent += bytes) {
          clock.pass(everyMs);
          response.write(Buffer.alloc(Math.min(bytes, 1_000_000 - sent), 1));
          // Until it has been taken, or was given up.
          for (let turn = 0; turn < 5; turn++) await clock.turn();
        }
        response.end();
      })();
    });
    return { endpoint, requests: () => requests };
  }

  it('[O4] ends with the deadline, although bytes come before every silence would be too long', async () => {
    const clock = new ManualClock();
    const { endpoint, requests } = await trickling(clock, { bytes: 10, everyMs: 9_000 });
    const driver = await driverOn(endpoint, { clock });
    for (const offset of [0, 1]) {
      const before = clock.now();
      const reading = clock.run(driver.read('object', { offset, length: 1_000_000 }));
      await expect(reading).rejects.toMatchObject({
        code: 'TIERED_DEADLINE',
        cause: { code: 'TooSlow' },
      });
      // The deadline, one more answer that is too slow, and a pause.
      expect(clock.now() - before).toBeLessThan(60_000 + 2 * 18_000 + 5_000);
    }
    expect(requests()).toBeGreaterThan(2);
  });

  it('[O4] ends also where it is no object: a listing, an error', async () => {
    for (const status of [200, 404]) {
      const clock = new ManualClock();
      const endpoint = await answering((_, response) => {
        response.writeHead(status);
        void (async () => {
          while (!response.destroyed) {
            clock.pass(9_000);
            response.write(' ');
            for (let turn = 0; turn < 5; turn++) await clock.turn();
          }
        })();
      });
      const driver = await driverOn(endpoint, { clock });
      await expect(clock.run(keysOf(driver))).rejects.toMatchObject({
        code: 'TIERED_DEADLINE',
        cause: { code: 'TooSlow' },
      });
    }
  });

  it('[O4] is taken as long as it keeps to the least rate', async () => {
    const clock = new ManualClock();
    const { endpoint, requests } = await trickling(clock, { bytes: 20_000, everyMs: 2_000 });
    const driver = await driverOn(endpoint, { clock, deadlineMs: 5_000 });
    expect(await clock.run(driver.read('object', { offset: 0, length: 1_000_000 }))).toHaveLength(1_000_000);
    expect(requests()).toBe(1);
    expect(clock.now()).toBe(100_000);
  });

  it('is waited for while the server puts parts together, and sends blanks meanwhile, but not for ever', async () => {
    for (const seconds of [35, Infinity]) {
      const clock = new ManualClock();
      const endpoint = await answering((request, response) => {
        request.resume().on('end', () => {
          const isEnd = request.method === 'POST' && request.url?.includes('uploadId=') === true;
          response.writeHead(request.method === 'DELETE' ? 204 : 200, { etag: '"x"' });
          if (!isEnd)
            return response.end(
              '<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>',
            );
          void (async () => {
            for (let second = 0; second < seconds && !response.destroyed; second += 5) {
              clock.pass(5_000);
              response.write(' ');
              for (let turn = 0; turn < 5; turn++) await clock.turn();
            }
            response.end('<CompleteMultipartUploadResult><Key>object</Key></CompleteMultipartUploadResult>');
          })();
          return undefined;
        });
      });
      const options = { clock, attempts: 2, writable: true, chunk: 5 * MIB, deadlineMs: 600_000 };
      const driver = await driverOn(endpoint, options);
      const writing = clock.run(driver.write('object', new Uint8Array(11 * MIB), { size: 11 * MIB }));
      if (seconds < Infinity) await writing;
      else await expect(writing).rejects.toMatchObject({ cause: { code: 'TooSlow' }, attempts: 2 });
    }
  });

  it('is not given up for a pause of the process that reads it', async () => {
    const clock = new ManualClock();
    const endpoint = await answering((_, response) => {
      response.writeHead(200, { etag: '"x"', 'content-length': 100_000 }).write(Buffer.alloc(50_000));
      void (async () => {
        for (let turn = 0; turn < 5; turn++) await clock.turn();
        clock.pass(1_000_000);
        response.end(Buffer.alloc(50_000));
      })();
    });
    const driver = await driverOn(endpoint, { clock, attempts: 1 });
    expect(await clock.run(driver.read('object', { offset: 0, length: 100_000 }))).toHaveLength(100_000);
  });
});
