import { SqliteRegistry } from '@tiered/cluster/registry';
import { look, type StageRecord } from '@tiered/control';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { describeChromium, launch } from './chromium.js';

const MAIN = path.join(import.meta.dirname, '../packages/tiered/bin/from-sources.js');
/** What would be a script, if it were not text. */
const HOSTILE = `<img src=x onerror="document.title='taken'"><script>document.title='taken'</script>`;

let directory: string;
let registry: SqliteRegistry;
let file: string;
beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-room-'));
  file = path.join(directory, 'control.db');
  registry = new SqliteRegistry({ path: file });
  await registry.open({});
});
afterEach(async () => {
  await registry.close();
  await rm(directory, { recursive: true });
});

/** Puts the record of a stage that reads from one source. */
async function put(job: string, usedBytes: number, source = HOSTILE): Promise<void> {
  const report = { wanted: {}, used: { bytes: usedBytes, operations: 400 }, waits: 0.5 };
  const record: StageRecord = {
    v: 1,
    kind: 'stage',
    job,
    node: 'node-1',
    terms: { atLeast: { bytes: 20 * 2 ** 20 } },
    sources: { [source]: { ...report, budget: { bytes: 150 * 2 ** 20 } } },
    stall: 0.25,
    tiers: {},
  };
  await registry.put({ slot: `stage.${job}`, owner: job, record }, { ttlMs: 600_000 });
}

/** The address that the command prints. */
async function served(...args: string[]): Promise<string> {
  const node = ['--conditions=tiered-source', '--import', import.meta.resolve('tsx'), MAIN];
  const command = ['control', 'serve', '--registry', file, ...args];
  const child = spawn(process.execPath, [...node, ...command], { stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await closed;
  });
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  return line;
}

describeChromium('the control room', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser?.close());

  /** Opens a page, and gathers everything that goes wrong on it. */
  async function opened(url: string, problems: string[] = []): Promise<Page> {
    const page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
    onTestFinished(() => page.close());
    page.on('console', (message) => problems.push(message.text()));
    page.on('pageerror', (error) => problems.push(String(error)));
    page.on('dialog', (dialog) => problems.push(dialog.message()));
    await page.goto(url);
    return page;
  }

  it('[N3] draws every job and source, live, with names as text', async () => {
    await put('imagenet', 90 * 2 ** 20);
    await put('llm', 45 * 2 ** 20);
    const problems: string[] = [];
    const page = await opened(await served(), problems);
    await page.getByText('2 jobs at 1 source').waitFor();
    expect(await page.locator('h2').first().textContent()).toBe(HOSTILE);
    expect(await page.locator('.chart canvas').count()).toBe(3);
    expect(await page.locator('.chart h4').allTextContents()).toEqual([
      'What jobs use of it',
      'imagenet',
      'llm',
    ]);
    expect(await page.locator('section .lead').textContent()).toMatch(
      /^150 MiB\/s, as its jobs say; jobs share 147.8 MiB\/s of it: 98.5 %/,
    );
    expect(await page.locator('thead th').allTextContents()).toEqual(
      expect.arrayContaining(['at least', 'at most', 'requests']),
    );
    const row = await page.locator('tbody tr').first().locator('td').allTextContents();
    expect(row).toEqual(expect.arrayContaining(['20.0 MiB/s', '90.0 MiB/s', '400/s']));
    expect(await page.locator('tbody tr').first().textContent()).toMatch(/7\d\.\d MiB\/s/);
    const widthOf = async (what: string) => (await page.locator(what).first().boundingBox())?.width ?? 0;
    expect(Math.abs((await widthOf('.chart')) - (await widthOf('.wide')))).toBeLessThan(2);
    await page.setViewportSize({ width: 900, height: 900 });
    await expect
      .poll(async () => Math.abs((await widthOf('.chart')) - (await widthOf('.wide'))))
      .toBeLessThan(2);
    await page.setViewportSize({ width: 1200, height: 900 });
    // A stage says something new, another comes, and one leaves.
    await put('imagenet', 20 * 2 ** 20);
    await put('bert', 10 * 2 ** 20);
    await registry.leave('stage.llm', 'llm', {});
    await page.locator('tbody tr', { hasText: 'imagenet' }).getByText('20.0 MiB/s').waitFor();
    await page.locator('.chart h4', { hasText: 'bert' }).waitFor();
    await page.locator('.chart h4', { hasText: 'llm' }).waitFor({ state: 'detached' });
    expect(await page.locator('form').count()).toBe(0);
    expect(await page.title()).toBe('Jobs that share sources');
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(1200);
    expect(problems).toEqual([]);
  });

  it('changes what operators set, where that was allowed', async () => {
    await put('imagenet', 1, 'server:/export');
    const problems: string[] = [];
    const page = await opened(await served('--allow-set'), problems);
    await page.getByText('operators have set nothing').waitFor();
    const job = page.locator('form[data-kind=job]');
    await job.locator('[name=job]').fill('imagenet');
    await job.locator('[name=weight]').fill('2');
    await job.getByText('Set', { exact: true }).click();
    await page.locator('#done', { hasText: 'revision 1, set by' }).waitFor();
    expect((await look(registry)).policy?.jobs).toEqual({ imagenet: { weight: 2 } });
    await page.locator('#policy', { hasText: 'job imagenet: weight 2' }).waitFor();
    await job.getByText('Clear', { exact: true }).click();
    await page.locator('#done', { hasText: 'revision 2' }).waitFor();
    expect((await look(registry)).policy?.jobs).toEqual({});
    expect(problems).toEqual([]);
    await job.locator('[name=weight]').fill('many');
    await job.getByText('Set', { exact: true }).click();
    await page.locator('#done.lost', { hasText: 'weight: expected a number from 0.001 to 1000' }).waitFor();
  });

  it('says to those without the token how they get in', async () => {
    const { origin, hash } = new URL(await served('--allow-set'));
    const page = await opened(`${origin}/#wrong`);
    await page.getByText('Open this page by the whole address').waitFor();
    expect(await page.locator('h2:visible').count()).toBe(0);
    expect(await page.locator('form:visible').count()).toBe(0);
    const allowed = await opened(`${origin}/${hash}`);
    await allowed.getByText('operators have set nothing').waitFor();
    expect(await allowed.locator('form:visible').count()).toBe(3);
  });
});
