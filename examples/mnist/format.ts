/** A share as a percentage. */
export function percent(share: number, digits = 0): string {
  return `${(share * 100).toFixed(digits)} %`;
}

/** Bytes in megabytes of 1000 x 1000, the unit in which bandwidths are given. */
export function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}

export function seconds(value: number): string {
  return value.toFixed(1);
}
