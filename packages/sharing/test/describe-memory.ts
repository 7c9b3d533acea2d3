import { native } from '@tiered/native';
import { describe, it } from 'vitest';

/**
 * Registers tests that need memory to be shared; where the native part is turned off or cannot be there is a
 * skipped one instead.
 */
export function describeMemory(name: string, register: () => void): void {
  const state = native();
  describe(name, () => {
    if (state.available) register();
    else if (process.env['CI'] === 'true' && process.env['TIERED_NATIVE'] !== '0')
      it('needs the native part', () => Promise.reject(new Error(state.reason)));
    else it.skip(`needs the native part: ${state.reason}`);
  });
}
