/**
 * An object as a read or a placement takes it: its entry in the namespace, and what was known of it when that began.
 * Handed down as it is, so that nobody below looks it up again, or takes a key of one version and a size of another.
 */
export interface ObjectRef {
  /** Its entry in the namespace, see `MetadataContainer`. */
  readonly id: number;
  readonly key: string;
  /** Bytes. */
  readonly size: number;
  readonly version: string;
}
