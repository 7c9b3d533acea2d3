/** How the values of a column are stored. */
export interface ValueCodec {
  /** Bytes of each value; undefined if they differ. */
  readonly size: number | undefined;
  /** @throws Error if the bytes are no such value. */
  decode(bytes: Uint8Array): unknown;
  /**
   * Undefined where nothing is written here.
   * @throws Error if it is no such value.
   */
  readonly encode?: ((value: unknown) => Uint8Array) | undefined;
}
