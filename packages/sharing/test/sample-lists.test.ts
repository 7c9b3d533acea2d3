import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FrameDecoder } from '../src/wire/frame-decoder.js';
import { SERVER_FRAMES, type SampleList } from '../src/wire/protocol.js';
import { isListable, listedSamples, listFrames, type PlacedHead } from '../src/wire/sample-lists.js';
import { withCode } from './helpers.js';

const ID = 7;
const NUMBER = fc.nat(2 ** 32 - 1);

const keys = fc.oneof(
  { weight: 20, arbitrary: fc.string({ unit: 'grapheme', maxLength: 50 }) },
  fc.integer({ min: 0, max: 20_000 }).map((length) => '/'.repeat(length)),
  fc.integer({ min: 0, max: 20_000 }).map((length) => '編'.repeat(length)),
);

/** Samples of one epoch in pieces that follow each other. */
const lists: fc.Arbitrary<PlacedHead[]> = fc
  .record({
    epoch: fc.nat(),
    first: fc.maxSafeNat(),
    list: fc.array(fc.record({ key: keys, position: fc.maxSafeNat(), offset: NUMBER, size: NUMBER }), {
      maxLength: 300,
    }),
  })
  .map(({ epoch, first, list }) => {
    const piece = Math.min(first, Number.MAX_SAFE_INTEGER - list.length);
    return list
      .filter((sample) => isListable(sample))
      .map((sample, i) => ({ ...sample, epoch, piece: piece + i }));
  });

/** What a client makes of frames. */
function decoded(frames: readonly Uint8Array[]): PlacedHead[] {
  const decoder = new FrameDecoder(SERVER_FRAMES);
  return frames.flatMap((bytes) => {
    const [frame, ...more] = [...decoder.push(bytes)];
    expect(more).toEqual([]);
    if (frame?.type !== 'samples') throw new Error('no list came');
    expect(frame.id).toBe(ID);
    return [...listedSamples(frame.body)];
  });
}

describe('lists of samples', () => {
  it('give the same samples in the same order, whatever their keys and numbers are', () => {
    fc.assert(
      fc.property(lists, (samples) => {
        expect(decoded(listFrames(ID, samples))).toEqual(samples);
      }),
    );
  });

  it('are as few as fit into frames', () => {
    const samples = Array.from({ length: 256 }, (_, i) => ({
      key: `images/class-${i}/${i}.jpg`,
      epoch: 0,
      position: i,
      size: 1,
      offset: i,
      piece: i,
    }));
    expect(listFrames(ID, samples).length).toBe(1);
    expect(listFrames(ID, []).length).toBe(0);
  });

  it('have no keys that would end early, or that need a frame of their own', () => {
    expect(isListable({ key: 'a\0b' })).toBe(false);
    expect(isListable({ key: 'a'.repeat(30_000) })).toBe(false);
    expect(isListable({ key: '' })).toBe(true);
  });

  it.each<[string, Partial<SampleList>]>([
    ['has fewer places than keys', { keys: 'a\0b' }],
    ['has more places than keys', { places: new Uint8Array(32) }],
    ['has a part of a place', { places: new Uint8Array(15) }],
    ['has no place', { places: new Uint8Array() }],
    ['has a position that is no number of JavaScript', { places: new Uint8Array(16).fill(255) }],
  ])('[P12] are refused if one %s', (_, wrong) => {
    const list = { epoch: 0, piece: 0, keys: 'a', places: new Uint8Array(16), ...wrong };
    expect(() => [...listedSamples(list)]).toThrow(withCode('TIERED_DATA_CORRUPT'));
  });
});
