/**
 * An object as reads and fills see it: its entry in the namespace, and what was known of it when they began.
 * It is handed down unchanged, so that nobody below looks it up again, or mixes what belongs to two versions.
 */
export interface ObjectRef {
  /** Its entry in the namespace, see `MetadataContainer`. */
  readonly id: number;
  readonly key: string;
  /** Bytes. */
  readonly size: number;
  readonly version: string;
}
