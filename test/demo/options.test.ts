import { describe, expect, it } from 'vitest';
import { commandOf, parseOptions, UsageError } from '../../examples/mnist/options.js';

const sourceOf = (...args: readonly string[]) => parseOptions(args).source;

describe('the source of the demo', () => {
  it('is the local directory unless another one is named', () => {
    expect(sourceOf()).toEqual({ kind: 'directory' });
    expect(sourceOf('--source', 'directory')).toEqual({ kind: 'directory' });
    expect(sourceOf('--source', 's3')).toEqual({ kind: 'embedded' });
  });

  it('is a bucket with a prefix that ends with a slash, and an endpoint and a region if they are named', () => {
    const at = (url: string) => sourceOf('--source', url);
    expect(at('s3://data')).toEqual({ kind: 'bucket', bucket: 'data', prefix: '' });
    expect(at('s3://data/')).toEqual({ kind: 'bucket', bucket: 'data', prefix: '' });
    expect(at('s3://data/a/b')).toEqual({ kind: 'bucket', bucket: 'data', prefix: 'a/b/' });
    expect(at('s3://data/a b/')).toEqual({ kind: 'bucket', bucket: 'data', prefix: 'a b/' });
    const where = ['--endpoint', 'http://host:1', '--region', 'mars'];
    const source = { kind: 'bucket', bucket: 'data', prefix: '', endpoint: 'http://host:1', region: 'mars' };
    expect(sourceOf('--source', 's3://data', ...where)).toEqual(source);
  });

  it('is refused if it cannot be meant', () => {
    for (const source of ['s3://', 's3:///a', 's3:/data', 'S3', 'https://host/data', '', '/data'])
      expect(() => sourceOf('--source', source), source).toThrow(UsageError);
    expect(() => sourceOf('--endpoint', 'http://host')).toThrow(UsageError);
    expect(() => sourceOf('--source', 's3', '--region', 'mars')).toThrow(UsageError);
  });

  it('stands in the command that does the same again', () => {
    for (const args of [
      [],
      ['--quick', '--model', 'lenet', '--seed', '7', '--source', 's3'],
      ['--source', 's3://data/a/', '--endpoint', 'http://host:1/s3', '--region', 'mars'],
    ]) {
      const words = commandOf(parseOptions(args)).split(' ').slice(4);
      expect(parseOptions(words)).toEqual(parseOptions(args));
    }
    const awkward = commandOf(parseOptions(['--source', "s3://data/it's & $HOME/"]));
    expect(awkward).toBe(String.raw`npm run demo -- --seed 1 --source 's3://data/it'\''s & $HOME/'`);
  });
});

it('trains by a script of PyTorch with a seed, and with nothing that is of Node', () => {
  expect(parseOptions(['--python', '--quick', '--seed', '3'])).toMatchObject({ python: true, seed: 3 });
  expect(() => parseOptions(['--python', '--source', 's3'])).toThrow(UsageError);
  expect(() => parseOptions(['--python', '--model', 'lenet'])).toThrow(UsageError);
});

describe('the demo of nodes', () => {
  it('takes a number of workers, alone', () => {
    expect(parseOptions([]).nodes).toBeUndefined();
    expect(parseOptions(['--nodes', '4']).nodes).toBe(4);
    expect(parseOptions(['--nodes=16']).nodes).toBe(16);
    for (const args of [
      ['--nodes', '1'],
      ['--nodes', '17'],
      ['--nodes', 'x'],
      ['--nodes', '4', '--quick'],
    ])
      expect(() => parseOptions(args), args.join(' ')).toThrow(UsageError);
  });
});
