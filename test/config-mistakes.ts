import { CLUSTER_MISTAKES } from './config-cluster-mistakes.js';
import { CONTROL_MISTAKES } from './config-control-mistakes.js';
import { GATEWAY_MISTAKES, type Mistake } from './config-gateway-mistakes.js';

const source = { driver: 'memory' };
const tier = { driver: 'memory', quota: '8GiB' };

const withTier = (options: object) => ({ source, tiers: [tier, { ...tier, ...options }] });
const withPlacement = (placement: unknown) => ({ source, tiers: [tier], placement });
const withPrefetcher = (prefetcher: unknown) => ({ source, prefetcher });

/** Mistakes that people make. */
export const MISTAKES: readonly Mistake[] = [
  { what: 'no source', config: { tiers: [tier] }, field: 'source' },
  { what: 'a source without a driver', config: { source: { root: '/data' } }, field: 'source.driver' },
  { what: 'a source without its directory', config: { source: { driver: 'fs' } }, field: 'source.root' },
  {
    what: 'a directory that is a number',
    config: { source: { driver: 'fs', root: 1 } },
    field: 'source.root',
  },
  { what: 'an empty directory', config: { source: { driver: 'fs', root: '' } }, field: 'source.root' },
  {
    what: 'a directory that cannot be',
    config: { source: { driver: 'fs', root: '/a\0b' } },
    field: 'source.root',
    beyondSchema: true,
  },
  {
    what: 'a source that is to be written',
    config: { source: { driver: 'fs', root: '/data', writable: true } },
    field: 'source.writable',
  },
  {
    what: 'no file open',
    config: { source: { driver: 'fs', root: '/data', maxOpenFiles: 0 } },
    field: 'source.maxOpenFiles',
  },
  {
    what: 'a source with a quota',
    config: { source: { driver: 'fs', root: '/data', quota: 1 } },
    field: 'source.quota',
  },
  { what: 'tiers that are a mapping', config: { source, tiers: tier }, field: 'tiers', told: 'list' },
  { what: 'tiers that are nothing', config: { source, tiers: null }, field: 'tiers' },
  { what: 'a tier that is a name', config: { source, tiers: ['memory'] }, field: 'tiers[0]' },
  {
    what: 'a tier without a quota',
    config: { source, tiers: [{ driver: 'memory' }] },
    field: 'tiers[0].quota',
  },
  {
    what: 'a quota of a wrong unit',
    config: withTier({ quota: '200GBit' }),
    field: 'tiers[1].quota',
    told: 'GiB',
  },
  { what: 'a quota below nothing', config: withTier({ quota: -1 }), field: 'tiers[1].quota' },
  { what: 'a quota of half a byte', config: withTier({ quota: 0.5 }), field: 'tiers[1].quota' },
  { what: 'a mistyped field', config: withTier({ qouta: 1 }), field: 'tiers[1].qouta', told: 'quota?' },
  {
    what: 'a mistyped driver',
    config: withTier({ driver: 'memroy' }),
    field: 'tiers[1].driver',
    told: 'memory?',
    beyondSchema: true,
  },
  ...[
    ['ram', 'memory'],
    ['RAM', 'memory'],
    ['FS', 'fs'],
    ['fz', 'fs'],
    ['minio', 's3'],
    ['S3', 's3'],
    ['gcs', 'opendal, with service: gcs'],
  ].map(([driver, meant]) => ({
    what: `a driver that is called otherwise, ${driver}`,
    config: withTier({ driver }),
    field: 'tiers[1].driver',
    told: `did you mean ${meant}?`,
    beyondSchema: true,
  })),
  {
    what: 'a package of this project that is not installed',
    config: withTier({ driver: '@tiered/nfs-adapter' }),
    field: 'tiers[1].driver',
    told: 'npm install @tiered/nfs-adapter',
    beyondSchema: true,
  },
  ...[
    { config: { source: { driver: 'fs', root: '~/data' } }, field: 'source.root' },
    { config: withTier({ driver: 'fs', root: '~' }), field: 'tiers[1].root' },
    { config: { source, manifest: '~/dataset.manifest' }, field: 'manifest' },
    { config: { source, model: '~/profile.json' }, field: 'model' },
    { config: { source, monitor: '~/monitor' }, field: 'monitor' },
    { config: { source: { driver: '~/driver.js' } }, field: 'source.driver' },
    {
      config: { source: { driver: 'opendal', service: 'fs', options: { root: '~/data' } } },
      field: 'source',
    },
  ].map((mistake) => ({
    ...mistake,
    what: `a path of a shell as ${mistake.field}`,
    told: '${HOME}/',
    beyondSchema: true,
  })),
  {
    what: 'an endpoint without a scheme',
    config: { source: { driver: 's3', bucket: 'data', endpoint: '127.0.0.1:9000' } },
    field: 'source.endpoint',
    told: 'write "http://127.0.0.1:9000"',
    beyondSchema: true,
  },
  {
    what: 'a proxy without a scheme',
    config: { source: { driver: 's3', bucket: 'data', proxy: '/proxy' } },
    field: 'source.proxy',
    told: 'http://proxy:3128',
    beyondSchema: true,
  },
  {
    what: 'a driver that is not installed',
    config: withTier({ driver: 'tiered-missing-driver' }),
    field: 'tiers[1].driver',
    told: 'no package tiered-missing-driver is installed here',
    beyondSchema: true,
  },
  {
    what: 'a package that is no driver',
    config: withTier({ driver: '@tiered/tiering' }),
    field: 'tiers[1].driver',
    told: 'driverFactory',
    beyondSchema: true,
  },
  { what: 'a placement that is a name', config: withPlacement('firstFit'), field: 'placement' },
  {
    what: 'an unknown policy',
    config: withPlacement({ policy: 'lastFit' }),
    field: 'placement.policy',
    told: 'firstFit',
  },
  {
    what: 'a policy that is a number',
    config: withPlacement({ policy: 1 }),
    field: 'placement.policy',
    told: 'firstFit',
  },
  ...[
    ['pinned', 'pinned needs options; write { name: pinned, pins: ['],
    ['sizeAware', 'sizeAware needs options; write { name: sizeAware, largest: ['],
  ].map(([policy, told]) => ({
    what: `a policy without its options, ${policy}`,
    config: withPlacement({ policy }),
    field: 'placement.policy',
    told,
  })),
  {
    what: 'a pin to a tier that is not there',
    config: withPlacement({ policy: { name: 'pinned', pins: [{ pattern: '**', level: 3 }], promote: true } }),
    field: 'placement.policy.pins[0].level',
    told: 'which are 0 to 0, or "source", got 3',
    beyondSchema: true,
  },
  {
    what: 'an unknown policy with options',
    config: withPlacement({ policy: { name: 'lastFit', patterns: [] } }),
    field: 'placement.policy.name',
    told: 'firstFit',
  },
  {
    what: 'a policy without a name',
    config: withPlacement({ policy: {} }),
    field: 'placement.policy.name',
    told: 'firstFit',
  },
  {
    what: 'a policy with a wrong option',
    config: withPlacement({ policy: { name: 'firstFit', patterns: [] } }),
    field: 'placement.policy.patterns',
  },
  { what: 'no copies', config: withPlacement({ concurrency: 0 }), field: 'placement.concurrency' },
  { what: 'no chunk', config: withPlacement({ chunk: '0 B' }), field: 'placement.chunk', beyondSchema: true },
  {
    what: 'memory of a wrong unit',
    config: withPlacement({ memory: '1 Kelvin' }),
    field: 'placement.memory',
  },
  {
    what: 'a mistyped option',
    config: withPlacement({ concurency: 6 }),
    field: 'placement.concurency',
    told: 'concurrency?',
  },
  { what: 'a wrong placement without tiers', config: { source, placement: { x: 1 } }, field: 'placement.x' },
  ...['101%', '0%', '0.0 %', '-5%', '%', '50 percent', '1e1%', '50%%'].map((quota) => ({
    what: `a share that is none, ${quota}`,
    config: withTier({ quota }),
    field: 'tiers[1].quota',
    told: 'or "50%"',
  })),
  {
    what: 'a share of storage that knows no size',
    config: withTier({ driver: 's3', bucket: 'data', quota: '50%' }),
    field: 'tiers[1].quota',
    told: 'a share needs storage that knows its size; give bytes such as 200GiB',
    beyondSchema: true,
  },
  {
    what: 'shares of more than all memory',
    config: {
      source,
      tiers: [
        { ...tier, quota: '50%' },
        { ...tier, quota: '50.5%' },
      ],
    },
    field: 'tiers[1].quota',
    told: '100.5 %',
    beyondSchema: true,
  },
  {
    what: 'shares of more than all of a file system',
    config: {
      source,
      tiers: ['one', 'two/three'].map((root) => ({ driver: 'fs', root, quota: '80%' })),
    },
    field: 'tiers[1].quota',
    told: '160 %',
    beyondSchema: true,
  },
  {
    what: 'a source with a share',
    config: { source: { ...source, quota: '50%' } },
    field: 'source.quota',
  },
  {
    what: 'a model that is not there',
    config: { source, model: 'missing.json' },
    field: 'model',
    told: 'there is no such file; expected a profile that "tiered calibrate -o" wrote',
    beyondSchema: true,
  },
  { what: 'a model that is a directory', config: { source, model: '.' }, field: 'model', beyondSchema: true },
  { what: 'a model that is measurements', config: { source, model: { version: 1 } }, field: 'model' },
  { what: 'a model without a path', config: { source, model: '' }, field: 'model' },
  ...GATEWAY_MISTAKES,
  ...CLUSTER_MISTAKES,
  ...CONTROL_MISTAKES,
  { what: 'a prefetcher that is a number', config: withPrefetcher(8), field: 'prefetcher' },
  {
    what: 'memory of a prefetcher that is none',
    config: withPrefetcher({ memory: 0 }),
    field: 'prefetcher.memory',
  },
  { what: 'no producers', config: withPrefetcher({ producers: 0 }), field: 'prefetcher.producers' },
  {
    what: 'a mistyped option of a prefetcher',
    config: withPrefetcher({ initalProducers: 8 }),
    field: 'prefetcher.initalProducers',
    told: 'initialProducers?',
  },
  {
    what: 'a start of what is not tuned',
    config: withPrefetcher({ producers: 8, initialProducers: 8 }),
    field: 'prefetcher.initialProducers',
    told: 'cannot be combined with producers',
  },
  {
    what: 'a wrong way with errors',
    config: withPrefetcher({ onError: 'ignore' }),
    field: 'prefetcher.onError',
    told: 'skip',
  },
  {
    what: 'nothing to be skipped',
    config: withPrefetcher({ maxSkipped: 0 }),
    field: 'prefetcher.maxSkipped',
  },
  { what: 'a monitor that is a switch', config: { source, monitor: true }, field: 'monitor' },
  { what: 'an unknown field', config: { source, cache: [] }, field: 'cache' },
];
