import { findingsOn, type Finding } from '../finding.js';

/** S3 refuses requests whose time is further off. */
const REFUSED_MS = 15 * 60_000;
/** An hour of drift away from being refused, or worse. */
const FAR_MS = 5 * 60_000;

/** How far the server's clock is ahead of this machine's; why nobody knows, where that is so. */
export type Skew = { readonly skewMs: number } | { readonly unknown: string };

/** Whether the clocks of this machine and a server agree, which signs requests by time. */
export function clocksAgree(level: string, skew: Skew): Finding {
  const { ok, note, warning, problem } = findingsOn(level);
  if ('unknown' in skew) return note(`the clock was not compared with the server's: ${skew.unknown}`);
  const { skewMs } = skew;
  const off = Math.abs(skewMs);
  const found = `the clock of this machine is ${spanOf(off)} ${skewMs > 0 ? 'behind' : 'ahead of'} the server's`;
  const advice = 'Let the machine keep its clock (chrony, systemd-timesyncd).';
  if (off > REFUSED_MS)
    return problem(
      found,
      `${advice} Requests are signed by time, and refused when it is more than 15 minutes off; only after a refusal does the driver go by the server's clock.`,
    );
  return off > FAR_MS
    ? warning(found, `${advice} From 15 minutes on servers refuse requests.`)
    : ok("the clock of this machine agrees with the server's");
}

function spanOf(ms: number): string {
  const minutes = ms / 60_000;
  return minutes < 120 ? `${minutes.toFixed(0)} minutes` : `${(minutes / 60).toFixed(0)} hours`;
}
