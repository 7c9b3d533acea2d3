/** Redis and Valkey, as a tier that several machines share. @module */
export { RedisDriver } from './driver.js';
export { RedisError } from './errors.js';
export { type RedisDriverOptions, type RedisTls } from './options.js';
