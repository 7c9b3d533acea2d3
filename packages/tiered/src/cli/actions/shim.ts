import { shimFile } from '@tiered/interpose';
import { messageOf } from '../../doctor/finding.js';
import type { ProgramFacts } from '../../doctor/facts/programs.js';

/** Looks for the shim that `tiered run` loads into programs. */
export function lookForShim(): ProgramFacts['shim'] {
  try {
    return { file: shimFile() };
  } catch (error) {
    return { reason: messageOf(error) };
  }
}
