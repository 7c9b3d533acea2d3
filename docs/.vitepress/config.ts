import { slug } from 'github-slugger';
import { defineConfig } from 'vitepress';
import { repositoryLinks } from './links.js';
import { GUIDE, placeOf, PRIVATE, REFERENCE } from './pages.js';
import { REPOSITORY } from './repository.js';

/** Three levels, in the colours of docs/pictures. */
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">
  <rect x="4" y="1" width="8" height="4" rx="1" fill="#15693d"/>
  <rect x="2" y="6" width="12" height="4" rx="1" fill="#1d5fa8"/>
  <rect y="11" width="16" height="4" rx="1" fill="#75408f"/>
</svg>`;

export default defineConfig({
  title: 'tiered',
  description: 'Gets deep-learning training data to the loader in time.',
  lang: 'en',
  head: [
    ['link', { rel: 'icon', type: 'image/svg+xml', href: `data:image/svg+xml,${encodeURIComponent(ICON)}` }],
  ],
  // Documents stay where they are in the repository; see pages.ts.
  srcDir: '..',
  srcExclude: [`${PRIVATE}**`],
  rewrites: placeOf,
  cleanUrls: true,

  markdown: {
    // Anchors are those of GitHub, so that links work in both places.
    anchor: { slugify: slug },
    // Braces and colons in documents mean themselves.
    attrs: { disable: true },
    emoji: { enabled: [], shortcuts: {} },
    config: repositoryLinks,
  },

  themeConfig: {
    nav: [
      { text: 'Quick start', link: '/quick-start' },
      { text: 'Recipes', link: '/recipes' },
      { text: 'Reference', link: '/reference/', activeMatch: '^/reference/' },
      { text: 'Benchmarks', link: '/benchmarks' },
    ],
    sidebar: { '/': GUIDE, '/reference/': REFERENCE },
    outline: { level: [2, 3] },
    search: {
      provider: 'local',
      options: {
        // What explains comes before what lists.
        miniSearch: {
          searchOptions: { boostDocument: (id: string) => (id.includes('/reference/') ? 0.6 : 1) },
        },
      },
    },
    socialLinks: [{ icon: 'github', link: REPOSITORY }],
    editLink: { pattern: `${REPOSITORY}/edit/main/:path`, text: 'Edit this page' },
    footer: { message: 'MIT licence' },
  },

  // The index of the search is larger than what Vite warns of; it is loaded when somebody searches.
  vite: { build: { chunkSizeWarningLimit: 2000 } },

  // These pages are made of the sources.
  transformPageData: ({ relativePath, frontmatter }) =>
    relativePath.startsWith('reference/') ? { frontmatter: { ...frontmatter, editLink: false } } : undefined,
});
