// @ts-check
/**
 * Compiles `@tiered/native` for this clone, if that was not done yet; `npm ci` runs it. It never fails:
 * Node's threads read the files where the native part is missing. So a failure is a line to read.
 */
import { INSTALL } from './compile.js';

try {
  await import('../../packages/native/src-c/build.js');
} catch (error) {
  const [reason] = String(/** @type {Error} */ (error).message).split('\n');
  console.log(`@tiered/native is not compiled: ${reason}. What it needs: ${INSTALL}`);
}
