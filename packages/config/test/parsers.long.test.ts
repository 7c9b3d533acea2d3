import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const run = promisify(execFile);

/** A module for `--import` after which the parsers of configurations cannot be imported. */
const REFUSING = `
  import { register } from 'node:module';
  const hooks = \`export function resolve(specifier, context, next) {
    if (specifier === 'zod' || specifier === 'yaml') throw new Error('asked for ' + specifier);
    return next(specifier, context);
  }\`;
  register('data:text/javascript,' + encodeURIComponent(hooks));`;

/** Runs a module in a process without the parsers; resolves to what it prints. */
async function withoutParsers(code: string): Promise<string> {
  const refusing = `data:text/javascript,${encodeURIComponent(REFUSING)}`;
  const flags = [
    '--conditions=tiered-source',
    '--import',
    'tsx',
    '--import',
    refusing,
    '--input-type=module',
  ];
  const { stdout } = await run(process.execPath, [...flags, '-e', code], { cwd: import.meta.dirname });
  return stdout.trim();
}

describe('who makes a hierarchy in code', () => {
  it('loads no parser of configurations', async () => {
    const code = `
      import { Hierarchy, MemoryDriver } from '@tiered/core';
      import { PlacementHandler } from '@tiered/tiering';
      import { FileSystemDriver } from '@tiered/node-fs-adapter';
      import { OpenDalDriver } from '@tiered/opendal-adapter';
      import { S3Driver } from '@tiered/s3-adapter';
      const hierarchy = await new Hierarchy({ source: new MemoryDriver() }).open();
      const parts = [PlacementHandler, FileSystemDriver, OpenDalDriver, S3Driver].map((part) => typeof part);
      console.log(...parts, hierarchy.stats().source.driver);`;
    expect(await withoutParsers(code)).toBe('function function function function memory');
  });

  it('loads them with @tiered/config', async () => {
    const code = "await import('@tiered/config').catch(({ message }) => console.log(message));";
    expect(await withoutParsers(code)).toMatch(/^asked for (zod|yaml)$/);
  });
});
