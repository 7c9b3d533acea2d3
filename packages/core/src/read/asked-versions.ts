/**
 * Decides which version a read of the source asks for: the known one, unless the source turned out to
 * contradict itself.
 */
export class AskedVersions {
  #areAsked = true;

  /**
   * Returns the version to ask for, given the known version of the object; undefined if any version will do.
   */
  toAskFor(version: string): string | undefined {
    return this.#areAsked ? version : undefined;
  }

  /** Records that the source's versions do not identify its content. Reads no longer ask for a version. */
  distrust(): void {
    this.#areAsked = false;
  }
}
