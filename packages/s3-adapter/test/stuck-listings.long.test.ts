import { someBytes } from '@tiered/core/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BUCKET, answering, driverOn, keysOf, place } from './helpers.js';

interface PageOf {
  readonly keys?: readonly string[];
  readonly next?: string;
  readonly prefixes?: readonly string[];
}

function pageXml({ keys = [], next, prefixes = [] }: PageOf): string {
  const contents = keys.map((key) => `<Contents><Key>${key}</Key><Size>1</Size><ETag>"x"</ETag></Contents>`);
  const common = prefixes.map((prefix) => `<CommonPrefixes><Prefix>${prefix}</Prefix></CommonPrefixes>`);
  const more =
    next === undefined
      ? '<IsTruncated>false</IsTruncated>'
      : `<IsTruncated>true</IsTruncated><NextContinuationToken>${next}</NextContinuationToken>`;
  return `<ListBucketResult>${more}${contents.join('')}${common.join('')}</ListBucketResult>`;
}

/** What a driver lists on a server that answers each page so, and how many requests that takes. */
async function listed(pageOf: (query: URLSearchParams, request: number) => PageOf) {
  let requests = 0;
  const endpoint = await answering(({ url }, response) => {
    response.end(pageXml(pageOf(new URL(url ?? '', 'http://host').searchParams, requests++)));
  });
  const driver = await driverOn(endpoint, { credentials: 'anonymous' });
  const keys = keysOf(driver);
  await keys.catch(() => undefined);
  return { keys, requests: () => requests };
}

const STUCK = { code: 'TIERED_DATA_CORRUPT', cause: { code: 'ListingStuck' }, attempts: 1 };

describe('a listing with empty pages', () => {
  it('[O7] gives each key once, wherever they are and however it is split', async () => {
    const directory = fc.constantFrom('', 'a/', 'b/', 'b/c/', 'é/', 'z/', '!/');
    const key = fc.tuple(directory, fc.nat(99)).map(([above, i]) => `${above}${i}`);
    const property = fc.asyncProperty(
      fc.uniqueArray(key, { maxLength: 60, size: 'max' }),
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: 1, max: 5 }),
      fc.constantFrom('', 'b/', 'none'),
      fc.constantFrom(0.2, 0.5, 0.8),
      fc.nat(),
      async (keys, pageSize, listConcurrency, prefix, probability, seed) => {
        const faults = [{ probability, fault: { kind: 'emptyPage' } }] as const;
        const { server, driver } = await place({ listConcurrency }, { pageSize, faults, seed });
        for (const name of keys) server.put(BUCKET, name, someBytes(3, 1));
        const expected = keys.filter((name) => name.startsWith(prefix)).sort();
        expect((await keysOf(driver, prefix)).sort()).toEqual(expected);
        await driver.close();
        await server.close();
      },
    );
    await fc.assert(property, { numRuns: 60 });
  });

  it('[O7] goes past them in every range of keys', async () => {
    const { keys } = await listed((query) => {
      const token = query.get('continuation-token');
      if (query.has('delimiter')) return { prefixes: ['b/', 'c/'] };
      if (token !== null) return token === 'a' ? { keys: ['a/2'] } : { keys: [`${token}/1`] };
      const after = query.get('start-after');
      return after === null ? { keys: ['a/1'], next: 'a' } : { next: after.slice(0, 1) };
    });
    expect((await keys).sort()).toEqual(['a/1', 'a/2', 'b/1', 'c/1']);
  });
});

describe('a listing that does not get on', () => {
  it('[O7] is an error: a circle of tokens, with keys or without', async () => {
    for (const circle of [1, 2, 3, 7, 40]) {
      const { keys, requests } = await listed((query) => {
        const at = Number(query.get('continuation-token') ?? -1);
        return { next: String((at + 1) % circle) };
      });
      await expect(keys).rejects.toMatchObject(STUCK);
      expect(requests()).toBeLessThanOrEqual(3 * circle + 3);
    }
    // Begins with some that do not come again.
    const { keys } = await listed((query) => {
      const at = Number(query.get('continuation-token') ?? -1);
      return { keys: at < 20 ? [`key-${100 + at}`] : [], next: String(at === 25 ? 20 : at + 1) };
    });
    await expect(keys).rejects.toMatchObject(STUCK);
  });

  it('[O7] is an error: the same page for ever, under new tokens', async () => {
    for (const page of [['a', 'b'], ['b', 'a'], ['a']]) {
      const { keys, requests } = await listed((query, request) =>
        query.has('delimiter') ? {} : { keys: page, next: `token-${request}` },
      );
      await expect(keys).rejects.toMatchObject(STUCK);
      expect(requests()).toBeLessThan(10);
    }
    // Pages that take turns.
    const { keys } = await listed((query, request) =>
      query.has('delimiter') ? {} : { keys: [`${request % 3}`], next: `token-${request}` },
    );
    await expect(keys).rejects.toMatchObject(STUCK);
  });

  it('[O7] is an error: a range of keys that goes round, beside others that end', async () => {
    const { keys } = await listed((query) => {
      if (query.has('delimiter')) return { prefixes: ['b/', 'c/'] };
      if (query.get('start-after') === 'b/' || query.get('continuation-token') === 'round')
        return { next: 'round' };
      return query.has('continuation-token') || query.has('start-after')
        ? { keys: ['c/9'] }
        : { keys: ['a/1'], next: 'a' };
    });
    await expect(keys).rejects.toMatchObject(STUCK);
  });

  it('[O7] is an error: empty pages without end', async () => {
    const { keys, requests } = await listed((_, request) => ({ next: `token-${request}` }));
    await expect(keys).rejects.toMatchObject(STUCK);
    expect(requests()).toBe(10_000);
  });

  it('[O7] is an error: a page that is not the last, and does not say where it goes on', async () => {
    for (const said of [
      '<IsTruncated>true</IsTruncated>',
      '<IsTruncated>true</IsTruncated><NextContinuationToken/>',
      '<IsTruncated>yes</IsTruncated>',
    ]) {
      const endpoint = await answering((_, response) => {
        response.end(`<ListBucketResult>${said}</ListBucketResult>`);
      });
      const driver = await driverOn(endpoint, { attempts: 1 });
      await expect(keysOf(driver)).rejects.toMatchObject({ code: 'TIERED_DATA_CORRUPT' });
    }
  });
});
