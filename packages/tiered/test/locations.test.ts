import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sourceOf, tierOf } from '../src/dataset/locations.js';

const invalid = expect.objectContaining({ code: 'TIERED_CONFIG_INVALID' });

describe('a source as text', () => {
  it.each([
    ['/data/imagenet', { driver: 'fs', root: '/data/imagenet' }],
    ['data', { driver: 'fs', root: 'data' }],
    ['C:\\data', { driver: 'fs', root: 'C:\\data' }],
    ['s3://bucket', { driver: 's3', bucket: 'bucket' }],
    ['s3://bucket/', { driver: 's3', bucket: 'bucket' }],
    ['s3://bucket/a/b', { driver: 's3', bucket: 'bucket', prefix: 'a/b/' }],
    ['gs://bucket/a/', { driver: 'opendal', service: 'gcs', options: { bucket: 'bucket' }, prefix: 'a/' }],
    ['AZ://box', { driver: 'opendal', service: 'azblob', options: { container: 'box' } }],
  ])('%s', (text, level) => {
    expect(sourceOf(text)).toEqual(level);
  });

  it('is refused for other URLs, without what may be secret', () => {
    for (const text of ['http://me:hunter2@host/data', 's3://', 'ftp://hunter2/', '']) {
      expect(() => sourceOf(text)).toThrow(invalid);
      expect(() => sourceOf(text)).not.toThrow('hunter2');
    }
  });
});

describe('a tier as text', () => {
  it.each([
    ['ram:8GiB', { driver: 'memory', quota: '8GiB' }],
    ['/nvme/cache:200 GB', { driver: 'fs', root: '/nvme/cache', quota: '200 GB' }],
    ['C:\\cache:5GB', { driver: 'fs', root: 'C:\\cache', quota: '5GB' }],
    ['ram:50%', { driver: 'memory', quota: '50%' }],
    ['/nvme/cache:12.5 %', { driver: 'fs', root: '/nvme/cache', quota: '12.5 %' }],
    ['./ram:1000', { driver: 'fs', root: './ram', quota: '1000' }],
    ['s3://near/cache:1TiB', { driver: 's3', bucket: 'near', prefix: 'cache/', quota: '1TiB' }],
  ])('%s', (text, level) => {
    expect(tierOf(text)).toEqual(level);
  });

  it.each([
    'ram',
    'ram:',
    ':8GiB',
    '/nvme/cache',
    'C:\\cache',
    's3://bucket/cache',
    'ram:much',
    '/a:1:b',
    'ram:0%',
    'ram:101%',
    'ram:%',
  ])('is refused without a quota: %s', (text) => {
    expect(() => tierOf(text)).toThrow(invalid);
    expect(() => tierOf(text)).toThrow(text.startsWith('s3') ? 'quota' : JSON.stringify(text));
  });

  it('keeps any path, and any size', () => {
    const root = fc
      .string({ minLength: 1 })
      .filter((text) => text !== 'ram' && !/^[a-z][a-z\d+.-]+:\/\//i.test(text));
    const sizes = fc.constantFrom('1', '5MB', '1.5 GiB', '200gib', '5%', '99.9 %');
    fc.assert(
      fc.property(root, sizes, (path, quota) => {
        expect(tierOf(`${path}:${quota}`)).toEqual({ driver: 'fs', root: path, quota });
      }),
    );
  });
});
