// @ts-check

/**
 * @typedef {import('../index-messages.js').IndexState} IndexState
 * @typedef {import('./index-file.js').IndexFile} IndexFile
 */

/**
 * What is told of a tier as a whole. The parameters are the member that does not count in the last but one,
 * and the one that the last is of.
 */
const STATE = Object.freeze([
  ...['copies', 'occupied', 'claimed', 'directories', 'seq', 'boot'],
  '(SELECT coalesce(min(quota), 0) FROM members)',
  '(SELECT coalesce(max(quota), 0) FROM members)',
  '(SELECT coalesce(sum(leased), 0) FROM members)',
  '(SELECT count(*) FROM members)',
  '(SELECT coalesce(sum(wants), 0) FROM members WHERE id <> ?)',
  '(SELECT leased FROM members WHERE id = ?)',
]);

/**
 * @param {IndexFile} file
 * @param {string} member
 * @returns {IndexState}
 */
export function stateOf(file, member) {
  return { ...sumsOf(file, member), ...file.size() };
}

/**
 * The state as far as the index itself says it, without a look at the storage.
 *
 * @param {IndexFile} file
 * @param {string} member
 */
function sumsOf(file, member) {
  const [row = []] = file.select(STATE, 'FROM meta', [member, member]);
  const [copies, occupied, claimed, directories, seq, boot, ...sums] = row;
  const [quota, largestQuota, leased, members, wanted, mine] = sums;
  return {
    copies: Number(copies),
    occupied: Number(occupied),
    claimed: Number(claimed),
    directories: Number(directories),
    seq: Number(seq),
    boot: String(boot),
    quota: Number(quota),
    largestQuota: Number(largestQuota),
    leased: Number(leased),
    members: Number(members),
    wanted: Number(wanted),
    mine: mine === null ? undefined : Number(mine),
  };
}

/**
 * Gives a member what it would like to have of what is free, and takes what it gives back.
 *
 * @param {IndexFile} file
 * @param {import('../index-messages.js').Batch} batch
 */
export function lease(file, { member, wants, spare, hold, directoryBytes }) {
  if (wants === 0 && spare === 0) return;
  if (spare > 0) file.run('UPDATE members SET leased = max(0, leased - ?) WHERE id = ?', [spare, member]);
  const { quota, occupied, directories, leased } = sumsOf(file, member);
  const free = quota - occupied - directories * directoryBytes - leased - hold;
  const granted = Math.max(0, Math.min(wants, free));
  file.run('UPDATE members SET leased = leased + ?, wants = ? WHERE id = ?', [
    granted,
    wants - granted,
    member,
  ]);
}
