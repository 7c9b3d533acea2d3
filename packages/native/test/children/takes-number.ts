/** Has a number of a file alone until it is killed. */
import { NumberLocks } from '../../src/index.js';

const [file = '', number = '0'] = process.argv.slice(2);
const locks = await NumberLocks.open(file);
console.log(locks.take(Number(number)));
process.stdin.resume();
