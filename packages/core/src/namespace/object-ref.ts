/**
 * An object as reads and fills see it: its entry in the namespace, and its description when they began. It is
 * passed down unchanged, so that no layer below looks it up again, or mixes data of two versions.
 */
export interface ObjectRef {
  /** Its entry in the namespace, see `MetadataContainer`. */
  readonly id: number;
  readonly key: string;
  /** Bytes. */
  readonly size: number;
  readonly version: string;
}
