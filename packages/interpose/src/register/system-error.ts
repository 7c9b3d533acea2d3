import { getSystemErrorMap } from 'node:util';

/** An error as Node's own functions throw it. */
export function systemError(errno: number, syscall: string, path: string): NodeJS.ErrnoException {
  const [code, text] = getSystemErrorMap().get(-errno) ?? ['UNKNOWN', 'unknown error'];
  const error = new Error(`${code}: ${text}, ${syscall} '${path}'`);
  return Object.assign(error, { errno: -errno, code, syscall, path });
}
