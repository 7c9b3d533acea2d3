/** @param {Uint8Array} bytes */
export const firstByte = (bytes) => bytes[0];
