// @ts-check
/**
 * Compiles the shim for this machine. Where that cannot be it says so, and is no failure: nothing needs it.
 */
import { compile, INSTALL } from './compile.js';

if (process.platform === 'linux') {
  try {
    await compile();
  } catch (error) {
    const { code, stderr } = /** @type {{ code?: unknown; stderr?: string }} */ (error);
    if (code !== 'ENOENT') throw new Error(stderr, { cause: error });
    console.log(`@tiered/interpose is not compiled: there is no C compiler (${INSTALL}).`);
  }
} else {
  console.log('@tiered/interpose is not compiled: it is for Linux only.');
}
