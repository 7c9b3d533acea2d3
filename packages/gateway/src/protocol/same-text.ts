import { timingSafeEqual } from 'node:crypto';

/** Compares a text with a secret one, in a time that reveals nothing about the secret but its length. */
export function sameText(given: string, secret: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(secret)];
  return left.byteLength === right.byteLength && timingSafeEqual(left, right);
}
