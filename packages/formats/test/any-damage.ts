import fc from 'fast-check';

/** A place in bytes as a share of them, so that it fits bytes of any length. */
const anyPlace = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

const anyChange = fc.oneof(
  fc.record({
    kind: fc.constant('set' as const),
    place: anyPlace,
    bytes: fc.uint8Array({ minLength: 1, maxLength: 4 }),
  }),
  fc.record({
    kind: fc.constant('insert' as const),
    place: anyPlace,
    bytes: fc.uint8Array({ minLength: 1, maxLength: 600 }),
  }),
  fc.record({
    kind: fc.constant('remove' as const),
    place: anyPlace,
    bytes: fc.uint8Array({ minLength: 1, maxLength: 600 }),
  }),
  fc.record({ kind: fc.constant('cut' as const), place: anyPlace, bytes: fc.constant(new Uint8Array(0)) }),
);

/**
 * What may happen to bytes: some are changed, added or lost, or the end is cut off; once or several times.
 */
export const anyDamage = fc.array(anyChange, { minLength: 1, maxLength: 3 }).map(
  (changes) =>
    (whole: Uint8Array): Uint8Array =>
      changes.reduce<Uint8Array>((bytes, { kind, place, bytes: content }) => {
        const at = Math.floor(place * bytes.byteLength);
        const start = bytes.subarray(0, at);
        const rest = bytes.subarray(at + (kind === 'insert' ? 0 : content.byteLength));
        if (kind === 'cut') return start;
        return Uint8Array.from(Buffer.concat([start, kind === 'remove' ? new Uint8Array(0) : content, rest]));
      }, whole),
);
