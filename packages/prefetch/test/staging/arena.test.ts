import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Arena, type Block } from '../../src/staging/arena.js';
import { charge } from '../helpers.js';

const CAPACITY = 4096;

/**
 * What may happen to an arena: a piece is taken, the nth of those that are out comes back, the limit moves.
 */
const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ take: fc.oneof(fc.nat(300), fc.nat(3000)) }) },
    { weight: 3, arbitrary: fc.record({ free: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ limit: fc.nat(CAPACITY) }) },
  ),
  { maxLength: 200 },
);

describe('an arena', () => {
  it('[P2] lends each byte once, within its limit, whatever comes back in which order', () => {
    fc.assert(
      fc.property(steps, (script) => {
        const arena = new Arena(new SharedArrayBuffer(CAPACITY));
        const out: { block: Block; mark: number }[] = [];
        for (const [mark, step] of script.entries()) {
          if ('limit' in step) arena.limit = step.limit;
          else if ('free' in step) out.splice(step.free % Math.max(1, out.length), 1)[0]?.block.free();
          else {
            const block = arena.take(step.take);
            if (block === undefined) continue;
            expect(block.bytes.byteLength).toBe(step.take);
            expect(block.bytes.byteOffset % 64).toBe(0);
            expect(block.bytes.byteOffset + charge(step.take)).toBeLessThanOrEqual(arena.limit);
            block.bytes.fill(mark % 256);
            out.push({ block, mark });
          }
          const used = out.reduce((sum, { block }) => sum + charge(block.bytes.byteLength), 0);
          expect(arena.usedBytes).toBe(used);
          for (const { block, mark: written } of out)
            expect(block.bytes.every((byte) => byte === written % 256)).toBe(true);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('takes as many pieces as fit, and one for each that came back in order', () => {
    const arena = new Arena(new SharedArrayBuffer(640));
    const blocks = Array.from({ length: 10 }, () => arena.take(64));
    expect(blocks).not.toContain(undefined);
    expect(arena.take(1)).toBeUndefined();
    blocks[3]?.free();
    expect(arena.take(64), 'what is behind one that is out').toBeUndefined();
    blocks[0]?.free();
    expect(arena.take(64)?.bytes.byteOffset).toBe(0);
    expect(arena.take(64)).toBeUndefined();
  });

  it('throws at whoever gives a piece back twice', () => {
    const block = new Arena(new SharedArrayBuffer(64)).take(10);
    block?.free();
    expect(() => block?.free()).toThrow();
  });

  it('begins anew where the limit has grown, once it is empty', () => {
    const arena = new Arena(new SharedArrayBuffer(1000));
    arena.limit = 100;
    expect(arena.take(200)).toBeUndefined();
    arena.limit = 1000;
    expect(arena.take(900)?.bytes.byteLength).toBe(900);
  });
});
