import { someBytes } from '@tiered/core/testing';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BUCKET, answering, driverOn, keysOf, place } from './helpers.js';

describe('a listing of many pages', () => {
  it('gives each key once, whatever directories there are and however it is split', async () => {
    const directory = fc.constantFrom('', 'a/', 'b/', 'b/c/', 'b/d/', 'é/', '😀/', 'z/', '!/', '//', 'b');
    const key = fc.tuple(directory, fc.nat(200)).map(([above, i]) => `${above}${i}`);
    const property = fc.asyncProperty(
      fc.uniqueArray(fc.oneof(key, directory.filter(Boolean)), { maxLength: 150, size: 'max' }),
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 1, max: 9 }),
      fc.constantFrom('', 'b', 'b/', 'zz'),
      async (keys, pageSize, listConcurrency, prefix) => {
        const { server, driver } = await place({ listConcurrency }, { pageSize });
        for (const name of keys) server.put(BUCKET, name, someBytes(3, 1));
        const expected = keys.filter((name) => name.startsWith(prefix)).sort();
        expect((await keysOf(driver, prefix)).sort()).toEqual(expected);
        const pages = Math.max(1, Math.ceil(expected.length / pageSize));
        expect(server.requests.ListObjectsV2).toBeLessThanOrEqual(pages + listConcurrency + 1);
        await driver.close();
        await server.close();
      },
    );
    await fc.assert(property, { numRuns: 100 });
  });

  it('is made by several requests at the same time, each page handed out as it comes', async () => {
    const { server, driver, clock } = await place({ listConcurrency: 4 }, { pageSize: 10 });
    for (let i = 0; i < 400; i++) server.put(BUCKET, `${i % 8}/${i}`, someBytes(1, 1));
    server.faults.set([{ fault: { kind: 'latency', medianMs: 100 } }]);
    const listing = keysOf(driver);
    // One for the first page, one for the directories, and then the ranges.
    for (const together of [1, 1, 4, 4]) {
      while (clock.sleeping < together) await clock.turn();
      await clock.advance(100);
    }
    expect(await clock.run(listing)).toHaveLength(400);
  });

  it('that is left early has no request under way', async () => {
    const { server, driver, clock } = await place({ listConcurrency: 4 }, { pageSize: 10 });
    for (let i = 0; i < 400; i++) server.put(BUCKET, `${i % 8}/${i}`, someBytes(1, 1));
    let pages = 0;
    for await (const page of driver.list({})) {
      expect(page.length).toBeLessThanOrEqual(10);
      if (++pages === 3) break;
    }
    while (server.inFlight > 0) await clock.turn();
    expect(server.requests.ListObjectsV2).toBeLessThan(15);
  });

  it('rejects with the reason when it is aborted between pages', async () => {
    const { server, driver } = await place({}, { pageSize: 10 });
    for (let i = 0; i < 100; i++) server.put(BUCKET, `${i % 8}/${i}`, someBytes(1, 1));
    const reason = new Error('no longer wanted');
    const controller = new AbortController();
    const list = async () => {
      for await (const page of driver.list({ signal: controller.signal })) {
        expect(page.length).toBeGreaterThan(0);
        controller.abort(reason);
      }
    };
    await expect(list()).rejects.toBe(reason);
  });

  it('that fails while its reader holds a page tells the reader, and nobody else', async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown) => unhandled.push(error);
    process.on('unhandledRejection', note);
    onTestFinished(() => void process.off('unhandledRejection', note));
    const reason = new Error('no longer wanted');
    for (const isAborted of [false, true]) {
      const { server, driver, clock } = await place({}, { pageSize: 10 });
      for (let i = 100; i < 200; i++) server.put(BUCKET, `${i}`, someBytes(1, 1));
      // The first page, the directories, a second page; what comes after that is asked for ahead.
      const refused = { kind: 'status', status: 403, code: 'AccessDenied' } as const;
      const slow = { kind: 'latency', medianMs: 1000 } as const;
      server.faults.set([{ after: 3, fault: isAborted ? slow : refused }]);
      const controller = new AbortController();
      const listing = driver.list({ signal: controller.signal })[Symbol.asyncIterator]();
      for (let page = 0; page < 2; page++) expect((await listing.next()).done).toBe(false);
      while (server.requests.ListObjectsV2 < 4) await clock.turn();
      if (isAborted) controller.abort(reason);
      for (let turn = 0; turn < 50; turn++) await clock.turn();
      await expect(listing.next()).rejects.toMatchObject(isAborted ? reason : { code: 'TIERED_PERMISSION' });
    }
    expect(unhandled).toEqual([]);
  });

  it('gives each key once also where the server does not know start-after', async () => {
    const keys = Array.from({ length: 60 }, (_, i) => `${Math.floor(i / 6)}/${i % 6}`);
    let requests = 0;
    const endpoint = await answering(({ url }, response) => {
      requests += 1;
      const query = new URL(url ?? '', 'http://host').searchParams;
      const from = Number(query.get('continuation-token') ?? 0);
      const page = query.has('delimiter') ? [] : keys.slice(from, from + 7);
      const contents = page.map(
        (key) => `<Contents><Key>${key}</Key><Size>1</Size><ETag>x</ETag></Contents>`,
      );
      const common = Array.from(
        { length: 10 },
        (_, i) => `<CommonPrefixes><Prefix>${i}/</Prefix></CommonPrefixes>`,
      );
      const more = page.length > 0 && from + 7 < keys.length;
      response.end(
        `<ListBucketResult>${contents.join('')}${query.has('delimiter') ? common.join('') : ''}` +
          `<IsTruncated>${more}</IsTruncated>${more ? `<NextContinuationToken>${from + 7}</NextContinuationToken>` : ''}` +
          '</ListBucketResult>',
      );
    });
    expect((await keysOf(await driverOn(endpoint))).sort()).toEqual(keys);
    expect(requests).toBeGreaterThan(keys.length / 7 + 1);
  });

  it('is not split where the server does not sort', async () => {
    const queries: (string | null)[] = [];
    const endpoint = await answering(({ url }, response) => {
      const query = new URL(url ?? '', 'http://host').searchParams;
      queries.push(query.get('delimiter'));
      const page = Number(query.get('continuation-token') ?? 0);
      const keys = ['c', 'a', 'b'].map((key) => `${key}/${page}`);
      const contents = keys.map(
        (key) => `<Contents><Key>${key}</Key><Size>1</Size><ETag>"x"</ETag></Contents>`,
      );
      const more = page < 3 ? `<NextContinuationToken>${page + 1}</NextContinuationToken>` : '';
      response.end(
        `<ListBucketResult><IsTruncated>${page < 3}</IsTruncated>${more}${contents.join('')}</ListBucketResult>`,
      );
    });
    const driver = await driverOn(endpoint);
    expect(await keysOf(driver)).toHaveLength(12);
    expect(queries).toEqual([null, null, null, null]);
  });
});

describe('the XML of a listing', () => {
  const listed = async (body: string) => {
    const endpoint = await answering((_, response) => response.end(body));
    return keysOf(await driverOn(endpoint, { attempts: 1 }));
  };
  const object = (key: string) =>
    `<ListBucketResult><Contents><Key>${key}</Key><Size>1</Size><ETag>x</ETag></Contents></ListBucketResult>`;

  it('is taken with keys as they stand where the server does not encode them', async () => {
    expect(await listed(object('a+b%20c&amp;&#100;'))).toEqual(['a+b%20c&d']);
  });

  it('[O7] goes on behind a directory that comes without size and ETag', async () => {
    const whole = object('train/1.jpg').replace(
      '<Contents>',
      '<Contents><Key>train/</Key></Contents><Contents>',
    );
    expect(await listed(whole)).toEqual(['train/1.jpg']);
    const zero = whole.replace('<Key>train/</Key>', '<Key>train%2F</Key><Size>0</Size>');
    expect(await listed(zero.replace('<Contents>', '<EncodingType>url</EncodingType><Contents>'))).toEqual([
      'train/1.jpg',
    ]);
    for (const key of ['train', 'train/</Key><Size>1</Size><Key>x/'])
      await expect(listed(whole.replace('<Key>train/', `<Key>${key}`))).rejects.toThrow('MalformedListing');
  });

  it('is taken in whatever order it tells of an object, which nothing of another one becomes part of', async () => {
    const facts = { Key: '<Key>a</Key>', Size: '<Size>1</Size>', ETag: '<ETag>x</ETag>' };
    const listOf = (...objects: (readonly string[])[]) =>
      `<ListBucketResult>${objects.map((fields) => `<Contents>${fields.join('')}</Contents>`).join('')}</ListBucketResult>`;
    const order = fc.shuffledSubarray(Object.values(facts), { minLength: 3 });
    const property = fc.asyncProperty(fc.array(order, { minLength: 1, maxLength: 3 }), async (objects) => {
      const named = objects.map((fields, i) => fields.map((field) => field.replace('>a<', `>a${i}<`)));
      expect(await listed(listOf(...named))).toEqual(objects.map((_, i) => `a${i}`));
    });
    await fc.assert(property, { numRuns: 30 });
    const { Key, Size, ETag } = facts;
    for (const [first, second] of [
      [[Key, Size], [ETag]],
      [
        [Key, Size],
        [ETag, Key, Size],
      ],
      [[ETag, Size], [Key]],
    ] as const)
      await expect(listed(listOf(first, second))).rejects.toMatchObject({ code: 'TIERED_DATA_CORRUPT' });
  });

  it('that declares entities is refused: they are never expanded', async () => {
    const bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b SYSTEM "file:///etc/passwd">]>';
    for (const text of [bomb + object('&a;'), bomb + object('&b;'), object('&a;'), bomb + object('k')])
      await expect(listed(text)).rejects.toMatchObject({ code: 'TIERED_DATA_CORRUPT' });
  });

  it('that is cut off, or is something else, is refused', async () => {
    for (const text of [object('k').slice(0, -5), '<html><body>Welcome</body></html>', '', 'null', '<a>'])
      await expect(listed(text)).rejects.toMatchObject({ code: 'TIERED_DATA_CORRUPT' });
  });
});
