import { PACKAGES } from './entries.js';

/** What is below this directory is of this repository alone, and on no page. */
export const PRIVATE = 'packages/s3-server/';

/**
 * Where a document of the repository is on the site: `docs/configuration.md` is `configuration.md`,
 * `packages/core/README.md` is `packages/core.md`.
 */
export function placeOf(document: string): string {
  if (document === 'README.md') return 'overview.md';
  if (!document.includes('/')) return document.toLowerCase();
  return document.replace(/^docs\//, '').replace(/^(packages\/[^/]+)\/README\.md$/, '$1.md');
}

const page = (text: string, link: string) => ({ text, link });

/** What stands beside every page of the guide. */
export const GUIDE = [
  {
    text: 'Start',
    items: [
      page('Quick start', '/quick-start'),
      page('Overview', '/overview'),
      page('Concepts', '/concepts'),
      page('Which numbers?', '/choosing-numbers'),
    ],
  },
  {
    text: 'Use',
    items: [
      page('Recipes', '/recipes'),
      page('Coming from Python', '/coming-from'),
      page('Configuration', '/configuration'),
      page('The command line', '/command-line'),
      page('Several nodes', '/cluster'),
      page('Several jobs', '/control'),
      page('Errors', '/errors'),
      page('Semantics', '/semantics'),
    ],
  },
  {
    text: 'Measure',
    items: [
      page('Observing', '/observing'),
      page('Benchmarks', '/benchmarks'),
      page('Simulator', '/simulator'),
    ],
  },
  {
    text: 'Extend',
    items: [
      page('A driver of your own', '/own-driver'),
      page('A policy of your own', '/own-policy'),
      page('Protocol of a shared prefetcher', '/prefetch-protocol'),
    ],
  },
  {
    text: 'Packages',
    items: PACKAGES.map(({ name, directory }) => page(name, `/packages/${directory}`)),
  },
  {
    text: 'The project',
    items: [
      page('Architecture', '/architecture'),
      page('Contributing', '/contributing'),
      page('Security', '/security'),
    ],
  },
];

/** What stands beside every page of the reference: packages, each with its further entries. */
export const REFERENCE = [
  page('All entries', '/reference/'),
  ...PACKAGES.map(({ name, entries }) => ({
    ...page(name, `/reference/${name}/`),
    items: entries
      .filter(({ specifier }) => specifier !== name)
      .map(({ specifier }) => page(specifier.slice(name.length), `/reference/${specifier}/`)),
  })),
];
