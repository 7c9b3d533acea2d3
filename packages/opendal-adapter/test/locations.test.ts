import { OpenDalDriver, type OpenDalServiceOptions } from '@tiered/opendal-adapter';
import { Operator } from 'opendal';
import { describe, expect, it } from 'vitest';
import { serving, withCode } from './helpers.js';

type Options = Readonly<Record<string, string>>;

/** For each service, options that name different places. */
const DIFFERENT: Readonly<Record<string, readonly Options[]>> = {
  huggingface: [
    { repo_id: 'a/b' },
    { repo_id: 'a/c' },
    { repo_id: 'a/b', repo_type: 'dataset' },
    { repo_id: 'a/b', revision: 'v2' },
    { repo_id: 'a/b', revision: 'v2/x' },
    { repo_id: 'a/b', revision: 'v2', root: 'x' },
    { repo_id: 'a/b', root: 'x' },
  ],
  github: [
    { owner: 'a', repo: 'b' },
    { owner: 'a', repo: 'c' },
    { owner: 'b', repo: 'b' },
    { owner: 'a', repo: 'b', root: '/c' },
  ],
  hdfs: [{ name_node: 'hdfs://a:9000' }, { name_node: 'hdfs://b:9000' }, { name_node: 'hdfs://a:9001' }],
  hdfs_native: [{ name_node: 'hdfs://a:9000' }, { name_node: 'hdfs://b:9000' }],
  webhdfs: [{}, { endpoint: 'http://a:9870' }, { endpoint: 'http://b:9870' }, { root: '/x' }],
  webdav: [{ endpoint: 'http://a/x' }, { endpoint: 'http://a/y' }, { endpoint: 'http://a' }],
  http: [{ endpoint: 'http://a/x' }, { endpoint: 'http://a/y' }, { endpoint: 'http://a', root: '/z' }],
  gcs: [
    { bucket: 'a' },
    { bucket: 'b' },
    { bucket: 'a', root: 'b' },
    { bucket: 'a', endpoint: 'http://b' },
    { bucket: 'b', endpoint: 'http://a' },
  ],
  s3: [{ bucket: 'a' }, { bucket: 'b' }, { bucket: 'b', endpoint: 'http://a' }, { bucket: 'a', root: 'b' }],
  azblob: [
    { endpoint: 'https://one.example', container: 'a' },
    { endpoint: 'https://two.example', container: 'a' },
    { endpoint: 'https://one.example', container: 'b' },
  ],
  azdls: [
    { endpoint: 'https://one.example', filesystem: 'a' },
    { endpoint: 'https://one.example', filesystem: 'b' },
  ],
  azfile: [
    { endpoint: 'https://one.example', share_name: 'a' },
    { endpoint: 'https://one.example', share_name: 'b' },
  ],
  b2: [{ bucket: 'a' }, { bucket: 'b' }],
  upyun: [{ bucket: 'a' }, { bucket: 'b' }],
  cos: [
    { endpoint: 'https://one.example', bucket: 'a' },
    { endpoint: 'https://two.example', bucket: 'a' },
  ],
  oss: [
    { endpoint: 'https://one.example', bucket: 'a' },
    { endpoint: 'https://two.example', bucket: 'a' },
  ],
  obs: [
    { endpoint: 'https://one.example', bucket: 'a' },
    { endpoint: 'https://two.example', bucket: 'a' },
  ],
  supabase: [
    { endpoint: 'https://one.example', bucket: 'a' },
    { endpoint: 'https://one.example', bucket: 'b' },
  ],
  swift: [
    { endpoint: 'https://one.example/v1/AUTH_a', container: 'c' },
    { endpoint: 'https://one.example/v1/AUTH_b', container: 'c' },
    { endpoint: 'https://one.example/v1/AUTH_a', container: 'd' },
  ],
  lakefs: [
    { endpoint: 'https://one.example', repository: 'a' },
    { endpoint: 'https://one.example', repository: 'b' },
    { endpoint: 'https://one.example', repository: 'a', branch: 'dev' },
  ],
  seafile: [
    { endpoint: 'https://one.example', username: 'u', repo_name: 'a' },
    { endpoint: 'https://one.example', username: 'u', repo_name: 'b' },
    { endpoint: 'https://one.example', username: 'v', repo_name: 'a' },
  ],
  redis: [{}, { db: '1' }, { endpoint: 'tcp://a:6379' }, { root: '/x' }],
  memcached: [{ endpoint: 'tcp://a:11211' }, { endpoint: 'tcp://b:11211' }],
  ipfs: [
    { endpoint: 'https://ipfs.io', root: '/ipfs/Qm1' },
    { endpoint: 'https://ipfs.io', root: '/ipfs/Qm2' },
  ],
  ipmfs: [{}, { endpoint: 'http://a:5001' }],
  alluxio: [{ endpoint: 'http://a:39999' }, { endpoint: 'http://b:39999' }],
  dbfs: [{ endpoint: 'https://a.example' }, { endpoint: 'https://b.example' }],
  cloudflare_kv: [
    { account_id: 'a', namespace_id: 'n' },
    { account_id: 'b', namespace_id: 'n' },
    { account_id: 'a', namespace_id: 'm' },
  ],
  fs: [{ root: '/a' }, { root: '/b' }, { root: '/a/b' }],
};

/** Services whose options do not say where objects are, but by secrets. */
const UNTOLD = [
  ...['aliyun_drive', 'dropbox', 'gdrive', 'onedrive', 'yandex_disk', 'icloud', 'koofr', 'pcloud'],
  ...[
    'ghac',
    'vercel_artifacts',
    'vercel_blob',
    'mysql',
    'postgresql',
    'sqlite',
    'mongodb',
    'gridfs',
    'libsql',
  ],
];

const locationOf = (options: OpenDalServiceOptions) => new OpenDalDriver(options).location;

describe('locations of OpenDalDriver', () => {
  it('differ wherever the places do, and no service is taken for another', () => {
    const all = Object.entries(DIFFERENT).flatMap(([service, places]) =>
      places.map((options) => locationOf({ service, options })),
    );
    expect(all).not.toContain(undefined);
    expect(all.filter((location, i) => all.indexOf(location) !== i)).toEqual([]);
    expect(all.filter((location) => !/^[a-z0-9-]+:\/\/.*\/$/.test(location ?? ''))).toEqual([]);
  });

  it('are the same for the same place: with the default written out, under other names, other credentials', () => {
    for (const [one, other] of [
      [
        { service: 'gcs', options: { bucket: 'a' } },
        {
          service: 'GCS',
          options: { bucket: 'a', endpoint: 'https://storage.googleapis.com/', credential: 'xxxx' },
        },
      ],
      [
        { service: 'hf', options: { repo_id: 'a/b', token: 'xxxx' } },
        { service: 'huggingface', options: { repo_id: 'a/b', revision: 'main', repo_type: 'model' } },
      ],
      [
        { service: 'hdfs-native', options: { name_node: 'hdfs://a:9000', root: 'x' } },
        { service: 'hdfs_native', options: { name_node: 'hdfs://a:9000', root: '//x/' } },
      ],
      [
        { service: 'webdav', options: { endpoint: 'http://user:secret@h:1/dav/?sig=secret', root: '' } },
        { service: 'webdav', options: { endpoint: 'http://h:1/dav', password: 'secret' } },
      ],
    ] as const) {
      expect(locationOf(one)).toBe(locationOf(other));
      expect(locationOf(one)).not.toMatch(/secret|xxxx/);
    }
  });

  it('that the options do not tell must be said: without one, open() refuses', async () => {
    for (const service of UNTOLD)
      expect(
        locationOf({ service, options: { access_token: 'token', connection_string: 'x' } }),
      ).toBeUndefined();
    const endpoint = await serving((_, response) => response.end());
    const untold = new OpenDalDriver({ service: 'gdrive', options: { access_token: 'token' } });
    const later = new OpenDalDriver({ service: 'fs', options: async () => ({ root: '/' }) });
    for (const driver of [untold, later])
      await expect(driver.open({})).rejects.toEqual(withCode('TIERED_CONFIG_INVALID'));
    const operator = new Operator('http', { endpoint });
    await expect(new OpenDalDriver({ operator }).open({})).rejects.toEqual(withCode('TIERED_CONFIG_INVALID'));
    const location = 'gdrive://team/';
    const told = [
      new OpenDalDriver({ service: 'gdrive', options: { access_token: 'token' }, location, prefix: 'part/' }),
      new OpenDalDriver({ operator, location, prefix: 'part/' }),
    ];
    for (const driver of told) {
      await driver.open({});
      expect(driver.location).toBe('gdrive://team/part/');
      await driver.close();
    }
    for (const wrong of ['', 'team', 'gdrive://team', 'gdrive://user:secret@team/'])
      expect(() => new OpenDalDriver({ operator, location: wrong })).toThrow(
        withCode('TIERED_CONFIG_INVALID'),
      );
  });
});
