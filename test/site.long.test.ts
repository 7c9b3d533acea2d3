import { execFile } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import sirv from 'sirv';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { REPOSITORY } from '../docs/.vitepress/repository.js';
import { describeChromium, launch } from './chromium.js';

const root = path.join(import.meta.dirname, '..');
/** What `npm run docs` makes. */
const site = path.join(root, 'docs/.vitepress/dist');

/** For machines that are busy: the pages take some 30 s, and the site, if it is not there, as long. */
const LONG_MS = 300_000;

const NARROW = { width: 500, height: 900 };
const WIDE = { width: 1280, height: 900 };

/** Of every page of the site: its path, as links name it. */
function pagesOf(directory: string): string[] {
  return fs
    .readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.html') && file !== '404.html')
    .map((file) => `/${file.replace(/(^|\/)index\.html$|\.html$/, '$1')}`)
    .sort();
}

/** Pages of the reference are made alike: outside of the nightly run it suffices to look at the others. */
const hasOwnLook = (page: string) => inject('nightly') || !/^\/reference\/.+/.test(page);

/** What a page has, as the browser sees it. */
interface Seen {
  readonly headline: string;
  /** Absolute addresses. */
  readonly links: readonly string[];
  readonly ids: readonly string[];
}

/** An expression, because it is evaluated where there is a document. */
const SEEN = `({
  headline: document.querySelector('h1')?.textContent?.trim() ?? '',
  links: Array.from(document.querySelectorAll('a[href]'), (link) => link.href),
  ids: Array.from(document.querySelectorAll('[id]'), ({ id }) => id),
})`;

const ATTACHED = { state: 'attached' } as const;

describeChromium('the site', () => {
  let server: http.Server;
  let browser: Browser;
  let origin: string;

  beforeAll(async () => {
    if (!fs.existsSync(site)) await promisify(execFile)('npm', ['run', 'docs'], { cwd: root });
    server = http.createServer(sirv(site)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    browser = await launch();
  }, LONG_MS);

  afterAll(async () => {
    await browser?.close();
    server?.closeAllConnections();
    server?.close();
  });

  /** Opens an empty page, and gathers everything that goes wrong on it. */
  async function open(problems: string[]): Promise<Page> {
    const page = await browser.newPage({ viewport: WIDE, colorScheme: 'light', reducedMotion: 'reduce' });
    const note = (what: string) => problems.push(`${page.url()}: ${what}`);
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) note(message.text());
    });
    page.on('pageerror', (error) => note(String(error)));
    page.on('requestfailed', (request) => {
      const reason = request.failure()?.errorText ?? '';
      // What a page fetches ahead ends when the next one is opened.
      if (reason !== 'net::ERR_ABORTED') note(`${request.url()}: ${reason}`);
    });
    page.on('response', (response) => {
      if (response.status() >= 400) note(`${response.url()} is ${response.status()}`);
    });
    page.on('request', (request) => {
      if (!request.url().startsWith(`${origin}/`) && !request.url().startsWith('data:'))
        note(`asks for ${request.url()}`);
    });
    return page;
  }

  /** Says where a page is wider than its window, in each size and colour. */
  async function widths(page: Page): Promise<string[]> {
    const problems: string[] = [];
    // Begins with the size that the page has: a change of it takes longer than all else.
    const sizes = page.viewportSize()?.width === WIDE.width ? [WIDE, NARROW] : [NARROW, WIDE];
    for (const size of sizes) {
      await page.setViewportSize(size);
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        await page.locator(colorScheme === 'dark' ? 'html.dark' : 'html:not(.dark)').waitFor(ATTACHED);
        const width = await page.evaluate<number>('document.documentElement.scrollWidth');
        if (width > size.width)
          problems.push(`${page.url()}: ${width} px wide at ${size.width}, ${colorScheme}`);
      }
    }
    return problems;
  }

  it('shows every page, and has no link that leads nowhere', { timeout: LONG_MS }, async () => {
    const pages = pagesOf(site);
    const problems: string[] = [];
    const seen = new Map<string, Seen>();
    const waiting = [...pages];
    const tab = async () => {
      const page = await open(problems);
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        await page.goto(origin + next, { waitUntil: 'load' });
        // A page that follows the colours runs its scripts.
        if (hasOwnLook(next)) problems.push(...(await widths(page)));
        seen.set(next, await page.evaluate<Seen>(SEEN));
      }
    };
    await Promise.all([tab(), tab()]);

    expect(pages.length).toBeGreaterThan(50);
    expect(problems).toEqual([]);
    expect(pages.filter((page) => seen.get(page)?.headline === '')).toEqual([]);
    expect(nowhere(seen, origin)).toEqual([]);
    expect(pages.filter((page) => page !== '/' && !isLinked(page, seen, origin))).toEqual([]);
  });

  it('leads from the first page to a search that finds "quota"', async () => {
    const problems: string[] = [];
    const page = await open(problems);
    await page.goto(`${origin}/`);
    await page.getByRole('link', { name: 'Quick start' }).first().click();
    await page.getByRole('heading', { name: 'Quick start', level: 1 }).waitFor();
    await page.getByRole('button', { name: 'Search' }).first().click();
    await page.getByRole('searchbox').fill('quota');
    const results = page.locator('.VPLocalSearchBox .result');
    await results.first().waitFor();
    expect(await results.count()).toBeGreaterThan(3);
    await results.first().click();
    await page.waitForURL((url) => !url.pathname.endsWith('/quick-start'));
    await page.locator('main').filter({ hasText: /quota/i }).waitFor();
    expect(problems).toEqual([]);
  });
});

/** The links that lead to no page, to no place of a page, or to no file of the repository. */
function nowhere(seen: ReadonlyMap<string, Seen>, origin: string): string[] {
  const places = new Map([...seen].map(([page, { ids }]) => [page, new Set(ids)]));
  const isSomewhere = (href: string) => {
    const { pathname, hash } = new URL(href);
    const [, file] = /\/(?:blob|tree|edit)\/main\/(.*)$/.exec(pathname) ?? [];
    if (href.startsWith(REPOSITORY) && file !== undefined) return fs.existsSync(path.join(root, file));
    if (!href.startsWith(`${origin}/`)) return true;
    const ids = places.get(decodeURI(pathname));
    return ids !== undefined && (hash === '' || ids.has(decodeURIComponent(hash.slice(1))));
  };
  return [...seen].flatMap(([page, { links }]) =>
    links.filter((href) => !isSomewhere(href)).map((href) => `${page}: ${href}`),
  );
}

/** Whether another page leads to this one. */
function isLinked(page: string, seen: ReadonlyMap<string, Seen>, origin: string): boolean {
  return [...seen].some(
    ([from, { links }]) =>
      from !== page &&
      links.some((href) => href.startsWith(origin) && decodeURI(new URL(href).pathname) === page),
  );
}
