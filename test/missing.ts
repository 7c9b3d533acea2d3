import { it } from 'vitest';

/**
 * Registers one test for those that need a program that is not installed: it is skipped and says how to
 * install the program. With `CI=true` it fails.
 */
export function registerMissing(name: string, install: string): void {
  if (process.env['CI'] !== 'true') {
    it.skip(`${name}: skipped, install it with: ${install}`);
    return;
  }
  it(`${name} is installed`, () => {
    throw new Error(`${name} is missing, install it with: ${install}`);
  });
}
