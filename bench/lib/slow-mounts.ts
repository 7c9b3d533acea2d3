import { SlowMount } from '../../tools/fuse/slow-mount.js';

/**
 * Whether slow mounts can be had here. Where they cannot, stderr says why, and what is left out.
 * @throws Error in CI, where none may be left out.
 */
export async function hasSlowMounts(what: string): Promise<boolean> {
  const missing = await SlowMount.missing();
  if (missing === undefined) return true;
  if (process.env['CI'] === 'true') throw new Error(missing);
  process.stderr.write(`Without ${what}. ${missing}\n`);
  return false;
}
