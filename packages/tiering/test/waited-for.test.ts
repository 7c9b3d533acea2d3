import { MemoryDriver } from '@tiered/core';
import { InterceptingDriver, type DriverCall } from '@tiered/core/driver';
import { settled } from '@tiered/core/testing';
import { describe, expect, it } from 'vitest';
import { memoryWith, objectsOf, startHierarchy } from './helpers.js';

interface Asked {
  readonly isWaitedFor: () => boolean;
  readonly go: () => void;
}

/** A source that holds each read of bytes, and knows whether somebody waits for it. */
class AskingSource extends InterceptingDriver {
  readonly asked: Asked[] = [];

  protected override async intercept<T>(call: DriverCall<T>): Promise<T> {
    if (call.mostBytes === 0) return call.proceed();
    await new Promise<void>((go) => this.asked.push({ isWaitedFor: call.isWaitedFor ?? (() => true), go }));
    return call.proceed();
  }
}

const [CHUNK, CHUNKS] = [10, 4];

describe('a request to the source', () => {
  it('says whether a reader waits for it, from the moment on at which one does', async () => {
    const source = new AskingSource(await memoryWith(objectsOf([CHUNK * CHUNKS])));
    const tiers = [{ driver: new MemoryDriver(), quota: 1000 }];
    const hierarchy = await startHierarchy(source, tiers, { chunk: CHUNK, concurrency: 8 });
    const first = hierarchy.read('0', { offset: 0, length: 1 });
    await settled();
    source.asked[0]?.go();
    await first;
    await settled();
    const waitedFor = () => source.asked.slice(1).map(({ isWaitedFor }) => isWaitedFor());
    // What is read ahead of the reader.
    expect(waitedFor().length).toBeGreaterThan(0);
    expect(waitedFor()).not.toContain(true);
    const next = hierarchy.read('0', { offset: CHUNK, length: CHUNK });
    await settled();
    expect(waitedFor()[0]).toBe(true);
    expect(waitedFor().slice(1)).not.toContain(true);
    for (let i = 1; i < CHUNKS; i++) {
      source.asked[i]?.go();
      await settled();
    }
    expect((await next).byteLength).toBe(CHUNK);
    await hierarchy.close();
  });
});
