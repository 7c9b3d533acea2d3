/** Several nodes as one cache. */
export type { MemberRecord } from './member.js';
