import {
  Hierarchy,
  MemoryDriver,
  TieredError,
  isTieredError,
  type ErrorCode,
  type HierarchyEvents,
  type HierarchyOptions,
  type HierarchyReadRequest,
  type ObjectStat,
  type ReadOutcome,
  type StorageDriver,
  type TierOptions,
} from '@tiered/core';
import { FileSystemDriver, type FileSystemDriverOptions } from '@tiered/node-fs-adapter';
import { Prefetcher, shuffledSequence, type AccessSequence, type Sample } from '@tiered/prefetch';
import { S3Driver, type S3DriverOptions } from '@tiered/s3-adapter';
import { firstFit, PlacementHandler, type PlacementPolicy } from '@tiered/tiering';
import { describe, expectTypeOf, it } from 'vitest';

/** What programs are compiled against: `npm run types` fails where one of these is not so. */
describe('public types', () => {
  it('of a hierarchy: what it takes, and what its reads give', () => {
    expectTypeOf<Hierarchy['read']>().returns.resolves.toEqualTypeOf<Uint8Array>();
    expectTypeOf<Hierarchy['readInto']>().returns.resolves.toEqualTypeOf<number>();
    expectTypeOf<Hierarchy['readMany']>().parameter(0).toEqualTypeOf<readonly HierarchyReadRequest[]>();
    expectTypeOf<Hierarchy['readMany']>().returns.resolves.toEqualTypeOf<readonly ReadOutcome[]>();
    expectTypeOf<Hierarchy['open']>().returns.resolves.toEqualTypeOf<Hierarchy>();
    expectTypeOf<Hierarchy['stat']>().returns.resolves.toExtend<ObjectStat & { readonly level: number }>();
    expectTypeOf<Hierarchy>().toExtend<AsyncDisposable>();
    expectTypeOf<HierarchyEvents['placed']>().parameter(0).toHaveProperty('key').toEqualTypeOf<string>();
  });

  it('of options: the least that a program has to say, and undefined for what it leaves out', () => {
    expectTypeOf<{ source: StorageDriver }>().toExtend<HierarchyOptions>();
    expectTypeOf<{ driver: StorageDriver; quota: '1GiB' }>().toExtend<TierOptions>();
    expectTypeOf<{ driver: StorageDriver; quota: number; layout: undefined }>().toExtend<TierOptions>();
    expectTypeOf<{ driver: StorageDriver }>().not.toExtend<TierOptions>();
    expectTypeOf<{ root: string; writable: boolean | undefined }>().toExtend<FileSystemDriverOptions>();
    expectTypeOf<{ bucket: string }>().toExtend<S3DriverOptions>();
    expectTypeOf<{ driver: StorageDriver; quota: number; layout: 'zip' }>().not.toExtend<TierOptions>();
  });

  it('of drivers and policies, which programs bring', () => {
    expectTypeOf<MemoryDriver>().toExtend<StorageDriver>();
    expectTypeOf<FileSystemDriver>().toExtend<StorageDriver>();
    expectTypeOf<S3Driver>().toExtend<StorageDriver>();
    expectTypeOf(firstFit).toExtend<PlacementPolicy>();
    expectTypeOf(PlacementHandler).toBeConstructibleWith({ policy: firstFit, memory: '1GiB' });
  });

  it('of samples: what a loop is given', () => {
    expectTypeOf(shuffledSequence).returns.toEqualTypeOf<AccessSequence>();
    expectTypeOf<Prefetcher>().toExtend<AsyncIterable<Sample>>();
    expectTypeOf<Sample['data']>().toEqualTypeOf<Uint8Array>();
    expectTypeOf<Sample>().toExtend<Disposable & { readonly key: string; readonly epoch: number }>();
  });

  it('of errors: a code that is one of a list, also where the type of the error is not known', () => {
    expectTypeOf<TieredError['code']>().toEqualTypeOf<ErrorCode>();
    expectTypeOf<'TIERED_NOT_FOUND'>().toExtend<ErrorCode>();
    expectTypeOf<'TIERED_NO_SUCH_CODE'>().not.toExtend<ErrorCode>();
    const thrown: unknown = new TieredError('TIERED_NOT_FOUND', 'it is not there');
    if (isTieredError(thrown)) expectTypeOf(thrown).toEqualTypeOf<TieredError>();
  });
});
