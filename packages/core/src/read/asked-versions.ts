/** Which version a read of the source insists on: the known one, unless the source turned out to contradict itself. */
export class AskedVersions {
  #areAsked = true;

  /** The version to insist on for an object whose known version this is; undefined if any will do. */
  toAskFor(version: string): string | undefined {
    return this.#areAsked ? version : undefined;
  }

  /** The source's versions do not say which object it gives: no read insists on one from now on. */
  distrust(): void {
    this.#areAsked = false;
  }
}
