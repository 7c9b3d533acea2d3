// @ts-check
/**
 * The platforms that get a package with the addon: `@tiered/native-linux-x64-gnu` and so on. The version of
 * glibc is that of Debian 10 and RHEL 8, which Node 20 needs as well.
 */
export const PLATFORMS = [
  { name: 'linux-x64-gnu', cpu: 'x64', libc: 'glibc', target: 'x86_64-linux-gnu.2.28' },
  { name: 'linux-arm64-gnu', cpu: 'arm64', libc: 'glibc', target: 'aarch64-linux-gnu.2.28' },
  { name: 'linux-x64-musl', cpu: 'x64', libc: 'musl', target: 'x86_64-linux-musl' },
  { name: 'linux-arm64-musl', cpu: 'arm64', libc: 'musl', target: 'aarch64-linux-musl' },
];
