import { Hierarchy, MemoryDriver, type OperationOptions, type VersionPolicy } from '@tiered/core';
import { readEach, versionChanged, type ReadRequest } from '@tiered/core/driver';
import { FaultDriver, HoldingDriver, settled, someBytes } from '@tiered/core/testing';
import fc from 'fast-check';
import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';

const code = (value: string) => expect.objectContaining({ code: value }) as Error;

/** A source with objects `0`, `1`, ... of these sizes, that tells which batches it was asked for. */
class Batches extends MemoryDriver {
  readonly asked: (readonly ReadRequest[])[] = [];

  override readMany(requests: readonly ReadRequest[], options: OperationOptions) {
    this.asked.push(requests);
    return super.readMany(requests, options);
  }
}

async function sourceOf(...sizes: number[]): Promise<Batches> {
  const source = new Batches();
  for (const [i, size] of sizes.entries()) await source.write(String(i), someBytes(size, i), { size });
  return source;
}

const wholes = (keys: readonly string[], bytes = 100) =>
  keys.map((key) => ({ key, target: new Uint8Array(bytes) }));

describe('Hierarchy.readMany', () => {
  it('[R1] means the same as as many calls of readInto, for any keys and ranges', async () => {
    const source = await sourceOf(0, 1, 50, 100);
    await using scanned = await new Hierarchy({ source }).open();
    await using unscanned = await new Hierarchy({ source, scan: false }).open();
    const request = fc.record({
      key: fc.constantFrom('0', '1', '2', '3', 'none', '', 'a\0b', '\ud800'),
      offset: fc.oneof(fc.nat(120), fc.constantFrom(undefined, -1, 0.5, Number.NaN)),
      length: fc.nat(120),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(request, { maxLength: 20 }), fc.boolean(), async (requests, scan) => {
        const hierarchy = scan ? scanned : unscanned;
        const filled = () =>
          requests.map(({ key, offset, length }) => ({
            key,
            offset,
            target: new Uint8Array(length).fill(0xff),
          }));
        const [single, batch] = [filled(), filled()];
        const expected = await Promise.all(
          single.map(({ key, target, offset }) =>
            hierarchy.readInto(key, target, { offset }).then(
              (bytes) => ({ bytes }),
              (error: unknown) => ({ error }),
            ),
          ),
        );
        expect(await hierarchy.readMany(batch)).toEqual(expected);
        expect(batch).toEqual(single);
      }),
    );
    expect(scanned.stats().activeReads + unscanned.stats().activeReads).toBe(0);
  });

  it('[R1] puts pieces one behind the other, or says that they are not within the object', async () => {
    const source = await sourceOf(0, 1, 50, 100);
    await using scanned = await new Hierarchy({ source }).open();
    await using unscanned = await new Hierarchy({ source, scan: false }).open();
    const from = fc.oneof(fc.nat(90), fc.constantFrom(-1, 0.5, Number.NaN));
    const piece = fc.tuple(from, fc.nat(20));
    const request = fc.record({
      key: fc.constantFrom('0', '1', '2', '3', 'none'),
      offset: fc.constantFrom(undefined, 0, 7),
      pieces: fc.array(fc.oneof({ weight: 5, arbitrary: fc.tuple(fc.nat(40), fc.nat(20)) }, piece), {
        maxLength: 6,
      }),
      more: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: -1, max: 1 })),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(request, { maxLength: 8 }), fc.boolean(), async (drawn, scan) => {
        const requests = drawn.map(({ key, offset, pieces, more }) => {
          const room = pieces.reduce((sum, [, length]) => sum + length, more);
          const target = new Uint8Array(Math.max(0, room));
          return { key, offset, target, pieces: Float64Array.from(pieces.flat()) };
        });
        const outcomes = await (scan ? scanned : unscanned).readMany(requests);
        for (const [i, { key, offset = 0, target }] of requests.entries()) {
          const { pieces = [] } = drawn[i] ?? {};
          const bytes: Uint8Array | undefined =
            key === 'none' ? undefined : someBytes([0, 1, 50, 100][Number(key)] ?? 0, Number(key));
          const wanted = pieces.map(([from, length]) =>
            bytes?.subarray(offset + from, offset + from + length),
          );
          const areWithin =
            pieces.every(([from, length], at) => from >= 0 && wanted[at]?.byteLength === length) &&
            pieces.every(([from]) => Number.isInteger(from)) &&
            pieces.every(([from, length]) => offset + from + length <= (bytes?.byteLength ?? 0));
          const room = pieces.reduce((sum, [, length]) => sum + length, 0);
          if (bytes !== undefined && areWithin && room === target.byteLength) {
            expect(outcomes[i]).toEqual({ bytes: room });
            expect(target).toEqual(Uint8Array.from(wanted.flatMap((part) => [...(part ?? [])])));
          } else if (room > 0 || bytes === undefined) expect(outcomes[i]).toHaveProperty('error');
          if (bytes !== undefined && 'error' in (outcomes[i] ?? {}))
            expect(outcomes[i]).toEqual({ error: code('TIERED_RANGE_INVALID') });
        }
      }),
    );
  });

  it('asks the source once, for the versions that are known, and counts each read', async () => {
    const source = await sourceOf(100, 100, 100);
    await using hierarchy = await new Hierarchy({ source }).open();
    await hierarchy.readMany(wholes(['0', '2', '0']));
    const version = async (key: string) => (await source.stat(key, {})).version;
    expect(source.asked).toMatchObject([
      [
        { key: '0', version: await version('0') },
        { key: '2', version: await version('2') },
        { key: '0', version: await version('0') },
      ],
    ]);
    expect(hierarchy.stats()).toMatchObject({ source: { reads: 3, readBytes: 300 }, activeReads: 0 });
    expect(await hierarchy.readMany([])).toEqual([]);
    expect(source.asked).toHaveLength(1);
  });

  it('[E1] gives a failed read its error, and disturbs no other', async () => {
    const source = new FaultDriver(await sourceOf(100, 100, 100), {
      rules: [{ operations: ['readInto'], key: /1/, fault: { kind: 'fail', code: 'TIERED_IO' } }],
    });
    await using hierarchy = await new Hierarchy({ source }).open();
    expect(await hierarchy.readMany(wholes(['0', '1', 'none', '2']))).toEqual([
      { bytes: 100 },
      { error: code('TIERED_IO') },
      { error: code('TIERED_NOT_FOUND') },
      { bytes: 100 },
    ]);
    expect(source.injected, 'tries').toHaveLength(1);
  });

  it.each<[VersionPolicy, unknown]>([
    ['refresh', { bytes: 40 }],
    ['pin', { error: code('TIERED_SOURCE_CHANGED') }],
    ['ignore', { bytes: 40 }],
  ])(
    '[V2] [V3] [V4] an object that became shorter is read as the policy %s says',
    async (versions, expected) => {
      const source = await sourceOf(100, 100);
      await using hierarchy = await new Hierarchy({ source, versions }).open();
      await source.write('0', someBytes(40, 7), { size: 40 });
      const requests = wholes(['0', '1']);
      expect(await hierarchy.readMany(requests)).toEqual([expected, { bytes: 100 }]);
      if (versions !== 'pin') expect(requests[0]?.target.subarray(0, 40)).toEqual(someBytes(40, 7));
    },
  );

  it('[V2] an object that is another one at each look is an error, and not read forever', async () => {
    class Restless extends Batches {
      override async readInto(): Promise<number> {
        throw versionChanged(this, 'readInto', '0');
      }

      override readMany(requests: readonly ReadRequest[], options: OperationOptions) {
        return readEach(this, requests, options);
      }
    }
    const source = new Restless();
    await source.write('0', someBytes(10, 0), { size: 10 });
    await using hierarchy = await new Hierarchy({ source }).open();
    expect(await hierarchy.readMany(wholes(['0']))).toEqual([{ error: code('TIERED_SOURCE_CHANGED') }]);
  });

  it('[B1] an aborted batch rejects with the reason once nothing is written any more, and leaves no listener', async () => {
    const source = new HoldingDriver(await sourceOf(100, 100), { operations: ['readInto'] });
    await using hierarchy = await new Hierarchy({ source }).open();
    const controller = new AbortController();
    const reason = new Error('enough');
    let over = false;
    const reading = hierarchy.readMany(wholes(['0', '1']), { signal: controller.signal });
    const rejected = expect(reading.finally(() => (over = true))).rejects.toBe(reason);
    await settled();
    controller.abort(reason);
    await settled();
    expect(over).toBe(false);
    await source.releaseAll();
    await rejected;
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
    await expect(hierarchy.readMany([], { signal: controller.signal })).rejects.toBe(reason);
    expect(hierarchy.stats().activeReads).toBe(0);
  });

  it('[C1] close ends a batch that waits for the source, and waits until the source has let go', async () => {
    const source = new HoldingDriver(await sourceOf(100, 100), { operations: ['readInto'] });
    const hierarchy = await new Hierarchy({ source }).open();
    const rejected = expect(hierarchy.readMany(wholes(['0', '1']))).rejects.toEqual(code('TIERED_CLOSED'));
    await settled();
    expect(hierarchy.stats().activeReads).toBe(2);
    let closed = false;
    const closing = hierarchy.close().then(() => (closed = true));
    await settled();
    expect(closed).toBe(false);
    await source.releaseAll();
    await rejected;
    await closing;
    expect(hierarchy.stats()).toMatchObject({ activeReads: 0, placement: { fetching: 0 } });
  });
});
