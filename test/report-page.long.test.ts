import { Hierarchy, MemoryDriver } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import { openSamples } from '@tiered/formats';
import { rawRecords } from '@tiered/formats/raw';
import { DataLoader, type LoaderFigures } from '@tiered/loader';
import { calibrate } from '@tiered/simulator/calibration';
import { PlacementHandler } from '@tiered/tiering';
import { reportPage } from 'tiered/page';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseOptions } from '../examples/mnist/options.js';
import { renderPage as demoPage } from '../examples/mnist/report.js';
import { describeChromium, launch } from './chromium.js';
import { DATASET, outcomes } from './demo/outcomes.js';

const RECORD = 20_000;
/** What the demo reports beside what it measured. */
const DEMO = { checks: [], dataset: DATASET, source: 'a store', options: parseOptions([]) };
/** What would be a script, if it were not text. */
const HOSTILE = `</title></pre><script>document.title = 'taken'</script><img src=x onerror="alert(1)">`;

/** The figures of a training of three epochs, whose source has this name, and a profile of what it read. */
async function trained(name: string) {
  const source = new MemoryDriver({ name });
  for (const key of ['a', 'b', 'c'])
    await source.write(key, someBytes(50 * RECORD, 1), { size: 50 * RECORD });
  // Two objects fit.
  const tier = () => ({ driver: new MemoryDriver({ name: 'ram' }), quota: 110 * RECORD });
  const hierarchy = await new Hierarchy({
    source,
    tiers: [tier()],
    placement: new PlacementHandler(),
  }).open();
  const samples = await openSamples(hierarchy, { format: rawRecords({ recordBytes: RECORD }) });
  const loader = new DataLoader(samples, { batchSize: 10, epochs: 3, seed: 1 });
  for await (const { data } of loader) expect(data).toHaveLength(10);
  const figures = loader.figures();
  await hierarchy.close();
  const profile = await calibrate({ source, tiers: [tier()] }, { concurrencies: [1, 4], seconds: 0.05 });
  return { figures, profile };
}

describeChromium('the page of a loader', () => {
  let browser: Browser;
  let directory: string;

  beforeAll(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-page-'));
    browser = await launch();
  });

  afterAll(async () => {
    await browser?.close();
    await rm(directory, { recursive: true, force: true });
  });

  /** Opens a page as a file of its own, and gathers everything that goes wrong on it, and all it asks for. */
  async function opened(html: string, problems: string[]): Promise<Page> {
    const file = path.join(directory, 'report.html');
    await writeFile(file, html);
    const page = await browser.newPage({ viewport: { width: 500, height: 900 } });
    page.on('console', (message) => problems.push(message.text()));
    page.on('pageerror', (error) => problems.push(String(error)));
    page.on('dialog', (dialog) => problems.push(dialog.message()));
    page.on('request', (request) => {
      if (request.url() !== pathToFileURL(file).href) problems.push(request.url());
    });
    await page.goto(pathToFileURL(file).href, { waitUntil: 'load' });
    return page;
  }

  const colors = `(() => {
    const { color, backgroundColor } = getComputedStyle(document.body);
    const { fill } = getComputedStyle(document.querySelector('svg text[fill=currentColor]'));
    return { color, backgroundColor, fill };
  })()`;
  interface Colors {
    readonly color: string;
    readonly backgroundColor: string;
    readonly fill: string;
  }

  it('shows pictures and tables in a narrow window and in a wide one, in light and dark', async () => {
    const { figures, profile } = await trained('memory');
    const problems: string[] = [];
    const page = await opened(await reportPage(figures, { title: 'Training 7', profile }), problems);
    expect(await page.title()).toBe('Training 7');
    for (const width of [500, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
      const boxes = await Promise.all((await page.locator('svg').all()).map((svg) => svg.boundingBox()));
      expect(boxes).toHaveLength(3);
      for (const box of boxes) {
        expect(box?.width).toBeGreaterThan(400);
        expect(box?.height).toBeGreaterThan(80);
      }
    }
    const seen: Colors[] = [];
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      seen.push(await page.evaluate<Colors>(colors));
    }
    expect(seen.map(({ fill }) => fill)).toEqual(seen.map(({ color }) => color));
    expect(seen[0]?.backgroundColor).not.toBe(seen[1]?.backgroundColor);
    expect(await page.getByRole('rowheader', { name: 'as it is' }).count()).toBe(1);
    expect(await page.getByRole('rowheader').count()).toBe(3 + 5);
    expect(await page.locator('[role=img][aria-label*=":"]').count()).toBe(3);
    expect(problems).toEqual([]);
  });

  /** Texts of pictures that stand out of them, and boxes whose content does not fit. */
  const cut = `[
    ...[...document.querySelectorAll('svg text')].filter((text) => {
      const [inner, outer] = [text.getBoundingClientRect(), text.ownerSVGElement.getBoundingClientRect()];
      return inner.left < outer.left - 1 || inner.right > outer.right + 1 || inner.bottom > outer.bottom + 1;
    }),
    ...[...document.querySelectorAll('body *')].filter((box) => !box.closest('svg') && box.clientWidth > 0 && box.scrollWidth > box.clientWidth + 1),
  ].map((one) => one.tagName + ' ' + one.textContent.slice(0, 80))`;

  it('cuts nothing off at 1280 pixels, however long the names of drivers are', async () => {
    const problems: string[] = [];
    const { figures, profile } = await trained(`fs:/mnt/datasets/${'imagenet-'.repeat(12)}`);
    const source = { givenBytes: 1234.5 * 2 ** 30, leastBytes: 1023.9 * 2 ** 30, epochs: 3 };
    const page = await opened(await reportPage({ ...figures, source }, { profile }), problems);
    await page.setViewportSize({ width: 1280, height: 900 });
    expect(await page.evaluate<string[]>(cut)).toEqual([]);
    const demo = await opened(demoPage({ outcomes: outcomes(), ...DEMO }), problems);
    await demo.setViewportSize({ width: 1280, height: 900 });
    expect(await demo.evaluate<string[]>(cut)).toEqual([]);
    // One look: the same headline, verdict, tiles and ground.
    const look = `(() => [...['h1', '.takeaway', '.tiles b', '.tiles li', 'figure'].map((name) => {
      const { fontSize, color, backgroundColor, borderRadius } = getComputedStyle(document.querySelector(name));
      return [name, fontSize, color, backgroundColor, borderRadius];
    }), getComputedStyle(document.body).backgroundColor])()`;
    expect(await page.evaluate(look)).toEqual(await demo.evaluate(look));
    expect(problems).toEqual([]);
  });

  it('shows names as they are, whatever is in them', async () => {
    const { figures } = await trained(HOSTILE);
    const problems: string[] = [];
    const limit = { what: 'unknown', text: HOSTILE } as const;
    const epochs: LoaderFigures['epochs'] = figures.epochs.map((epoch) => ({ ...epoch, limit }));
    const page = await opened(
      await reportPage({ ...figures, epochs, order: HOSTILE }, { title: HOSTILE }),
      problems,
    );
    expect(await page.title()).toBe(HOSTILE);
    expect(await page.locator('h1').textContent()).toBe(HOSTILE);
    expect(await page.locator('script, img').count()).toBe(0);
    expect(await page.getByText(`source: ${HOSTILE}`).count()).toBeGreaterThan(0);
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(500);
    expect(problems).toEqual([]);
  });
});
