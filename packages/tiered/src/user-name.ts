import os from 'node:os';

/** What the system calls this user. Undefined for one without an entry in its passwd, as in containers. */
export function userName(): string | undefined {
  try {
    return os.userInfo().username;
  } catch {
    return undefined;
  }
}
