/** What has to be closed. */
export interface Closable {
  close(): Promise<void>;
}

/** Closes all, one after the other, also if one of them fails. Undefined stands for none. */
export async function closeAll([first, ...others]: readonly (Closable | undefined)[]): Promise<void> {
  try {
    await first?.close();
  } finally {
    if (others.length > 0) await closeAll(others);
  }
}
