/**
 * Which sibling each package may import: arrows point one way, from the bottom of this table to its top.
 * eslint.config.js holds the sources to it, tools/check-packages.mjs the package.json files. Rows of packages
 * that do not exist yet keep their place free.
 */
export const LADDER = {
  core: [],
  config: ['core'],
  tiering: ['core', 'config'],
  prefetch: ['core'],
  sharing: ['core', 'native', 'prefetch'],
  'node-fs-adapter': ['core', 'config', 'native'],
  's3-adapter': ['core', 'config'],
  gateway: ['core'],
  's3-server': ['core', 'gateway'],
  'opendal-adapter': ['core', 'config'],
  'redis-adapter': ['core', 'config'],
  native: ['core'],
  formats: ['core'],
  opentelemetry: ['core', 'prefetch'],
  simulator: ['core', 'tiering', 'prefetch'],
  loader: ['core', 'formats', 'prefetch', 'tiering'],
  cluster: ['core', 'tiering', 'gateway', 's3-adapter'],
  control: ['core', 'tiering', 'prefetch', 'cluster'],
  interpose: ['core', 'tiering', 'node-fs-adapter'],
  tiered: [
    'core',
    'config',
    'tiering',
    'prefetch',
    'sharing',
    'node-fs-adapter',
    's3-adapter',
    'opendal-adapter',
    'redis-adapter',
    'native',
    'formats',
    'loader',
    'simulator',
    'cluster',
    'control',
    'gateway',
    'interpose',
  ],
};

/**
 * Folders that import one way only, each from those before it, by package. `npm run cycles` holds the sources
 * to it.
 */
export const FOLDERS = {
  tiering: [
    'memory',
    'tier',
    'source',
    'index',
    'store',
    'plans',
    'policies',
    'ledger',
    'survey',
    'fill',
    'admission',
    'origins',
  ],
};
