#!/usr/bin/env bash
# Installs what is missing for the real servers of the tests (S3, Redis, NATS), for the slow file system of benches and tests
# (tools/fuse), the recorder of system calls of the tests of power cuts, the browser that opens the documentation,
# what the frameworks of the tests of @tiered/interpose need of Debian (the rest: node tools/frameworks/build.js), the
# compilers of the other programs of these tests, what looks for mistakes in C (valgrind, clang), and the caching proxies
# that a bench compares the gateway with (nginx, rclone), and the machines of tests of clusters (network):
# bash tools/servers/install.sh [swift|radosgw|redis|fuse|strace|squashfs|chromium|frameworks|rust|go|musl|valgrind|clang|proxies|nats|network]...
# Without arguments, all. Needs apt-get, and root or sudo.
set -euo pipefail

ALL=(swift radosgw redis fuse strace squashfs chromium frameworks rust go musl valgrind clang proxies nats network)

packages_of() {
  case $1 in
    swift) echo swift-proxy swift-account swift-container swift-object memcached ;;
    radosgw) echo radosgw ceph-mon ceph-osd ;;
    redis) echo redis-server redis-sentinel openssl ;;
    fuse) echo gcc libc6-dev libfuse3-dev fuse3 ;;
    strace) echo strace ;;
    squashfs) echo squashfs-tools mount ;;
    chromium) echo chromium fonts-dejavu-core ;;
    frameworks) echo python3-venv python3-torch python3-torchvision python3-numpy python3-pil python3-h5py fio g++ ;;
    rust) echo rustc gcc libc6-dev ;;
    go) echo golang-go gcc libc6-dev ;;
    musl) echo musl-tools gcc libc6-dev ;;
    valgrind) echo gcc libc6-dev valgrind ;;
    clang) echo clang-14 libclang-rt-14-dev ;;
    proxies) echo nginx-light rclone ;;
    nats) echo nats-server ;;
    network) echo iproute2 nftables ;;
    *) echo "There is no '$1': choose ${ALL[*]}." >&2 && return 1 ;;
  esac
}

missing=()
if (($# == 0)); then set -- "${ALL[@]}"; fi
for server in "$@"; do
  packages=$(packages_of "$server")
  for package in $packages; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
  done
done
if ((${#missing[@]} == 0)); then exit 0; fi

if ! command -v apt-get >/dev/null; then
  echo "Install these by hand, apt-get is not here: ${missing[*]}" >&2
  exit 1
fi
as_root=()
if ((EUID != 0)); then as_root=(sudo); fi

# The packages start their services when they are set up, on the machine's own ports and directories. The tests need
# the programs only: for the scripts of these packages, the commands that start services do nothing.
idle=$(mktemp -d)
trap 'rm -rf "$idle"' EXIT
chmod 755 "$idle"
for command in invoke-rc.d deb-systemd-invoke; do ln -s /bin/true "$idle/$command"; done

"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
  -o DPkg::Path="$idle:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" "${missing[@]}"
