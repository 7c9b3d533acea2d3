// @ts-check
import { compileIfPossible, platform } from '../../../tools/c/compile.js';
import { compile } from './compile.js';

const unless = platform().endsWith('-gnu') ? undefined : 'it is for glibc only';
await compileIfPossible('@tiered/interpose', () => compile(), { unless });
