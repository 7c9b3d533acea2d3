/**
 * Says which version a read of the source asks for: the known one, unless the source turned out to contradict
 * itself.
 */
export class AskedVersions {
  #areAsked = true;

  /**
   * Returns the version to ask for, given the known version of the object; undefined if any version will do.
   */
  toAskFor(version: string): string | undefined {
    return this.#areAsked ? version : undefined;
  }

  /**
   * Notes that the source's versions do not identify what it gives. No read asks for a version from now on.
   */
  distrust(): void {
    this.#areAsked = false;
  }
}
