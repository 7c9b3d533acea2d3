import { TieredError } from '@tiered/core';

/** Says what to do about a port that nothing can listen at. All other errors stay as they are. */
export function portTaken(error: unknown): unknown {
  const { code, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  const what = `port ${port} of ${address}`;
  if (code === 'EADDRINUSE')
    return wrong(`${what} is in use; give another one, such as --port 0 for a free one`);
  if (code === 'EACCES') return wrong(`this user may not listen at ${what}; give one from 1024 on`);
  return error;

  function wrong(message: string): TieredError {
    return new TieredError('TIERED_CONFIG_INVALID', message, { cause: error });
  }
}
