/** Object stores and other services that OpenDAL supports, as a source or tier. @module */
export { OpenDalDriver } from './driver.js';
export {
  type OpenDalConfig,
  type OpenDalDriverOptions,
  type OpenDalOperatorOptions,
  type OpenDalServiceOptions,
} from './options.js';
export {
  type OpenDalCapability,
  type OpenDalEntry,
  type OpenDalLister,
  type OpenDalMetadata,
  type OpenDalOperator,
} from './opendal.js';
