// @ts-check
import { compileIfPossible } from '../../../tools/c/compile.js';
import { compile } from './compile.js';

await compileIfPossible('@tiered/native', () => compile());
