import { isTieredError } from '@tiered/core';
import { decodeSequenceExample, encodeSequenceExample, type Feature } from '@tiered/formats/tfrecord';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyDamage, hex } from './bytes.js';

const anyFeature: fc.Arbitrary<Feature> = fc.oneof(
  fc.record({
    kind: fc.constant('bytes' as const),
    values: fc.array(fc.uint8Array({ maxLength: 5 }), { maxLength: 3 }),
  }),
  fc.record({ kind: fc.constant('float' as const), values: fc.float32Array({ maxLength: 3, noNaN: true }) }),
  fc.record({
    kind: fc.constant('int64' as const),
    values: fc.array(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), { maxLength: 3 }),
  }),
);
const anyName = fc.string({ unit: 'binary', maxLength: 5 });
const anySequence = fc.record({
  context: fc.dictionary(anyName, anyFeature, { maxKeys: 3 }),
  featureLists: fc.dictionary(anyName, fc.array(anyFeature, { maxLength: 3 }), { maxKeys: 3 }),
});

describe('tf.train.SequenceExample', () => {
  it('gives back any features in the order given', () => {
    fc.assert(
      fc.property(anySequence, (sequence) => {
        const { context, featureLists } = decodeSequenceExample(encodeSequenceExample(sequence));
        expect([...context]).toEqual(Object.entries(sequence.context));
        expect([...featureLists]).toEqual(Object.entries(sequence.featureLists));
      }),
    );
  });

  it('keeps the places of steps, merges lists that come in parts, and takes the last of a name', () => {
    const bytes = hex(`
      12 22                              // SequenceExample.feature_lists
        0a 11  0a 01 78                  //   FeatureLists.feature_list, an entry of key 'x'
          12 04  0a 02 1a 00             //     value: FeatureList.feature, a step of kind int64 without values
          12 06  0a 00                   //     more of the value: a step without a kind,
                 0a 02 0a 00             //       and one of kind bytes
        0a 03  0a 01 79                  //   'y' without a value
        0a 08  0a 01 7a  12 03 0a 01 00  //   'z', which does not end
    `);
    expect(() => decodeSequenceExample(bytes)).toThrow(
      expect.objectContaining({ code: 'TIERED_DATA_CORRUPT' }),
    );
    const whole = bytes.slice(0, 2 + 0x18);
    whole[1] = 0x18;
    expect(decodeSequenceExample(whole).featureLists).toEqual(
      new Map([
        ['x', [{ kind: 'int64', values: [] }, undefined, { kind: 'bytes', values: [] }]],
        ['y', []],
      ]),
    );
  });

  it('refuses what the format cannot hold', () => {
    const wide: Feature = { kind: 'int64', values: [2n ** 63n] };
    const refused = expect.objectContaining({ code: 'TIERED_CONFIG_INVALID' });
    expect(() => encodeSequenceExample({ context: { x: wide }, featureLists: {} })).toThrow(refused);
    expect(() => encodeSequenceExample({ context: {}, featureLists: { x: [wide] } })).toThrow(refused);
    expect(() => encodeSequenceExample({ context: {}, featureLists: { '\ud800': [] } })).toThrow(refused);
  });

  it('answers damaged bytes with nothing but TIERED_DATA_CORRUPT', () => {
    fc.assert(
      fc.property(anySequence, anyDamage, (sequence, damaged) => {
        try {
          decodeSequenceExample(damaged(encodeSequenceExample(sequence)));
        } catch (error) {
          if (!isTieredError(error, 'TIERED_DATA_CORRUPT')) throw error;
        }
      }),
      { numRuns: 500 },
    );
  });
});
