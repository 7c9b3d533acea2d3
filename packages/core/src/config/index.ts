/** What the schema of a driver's options is made of, if it is made with zod. The contract is in the package's main module. */
export {
  byteSize,
  expected,
  filePath,
  flag,
  group,
  milliseconds,
  oneOf,
  text,
  wholeNumber,
  type FieldText,
} from './fields.js';
