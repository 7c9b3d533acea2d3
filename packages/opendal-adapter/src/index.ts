/** Object stores and services that OpenDAL speaks, as source or tier. @module */
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
