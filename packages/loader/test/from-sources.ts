/** Options of Node with which a thread loads the sources, as this process does. */
export const FROM_SOURCES = [
  '--conditions=tiered-source',
  '--import',
  new URL('./workers/from-sources.mjs', import.meta.url).href,
];
