import { expect, it } from 'vitest';
import { sourceNameOf } from '../src/control/source-name.js';

const MOUNTS = [
  '21 1 8:1 / / rw - ext4 /dev/sda1 rw',
  '22 21 8:2 / /srv/local\\040disk rw - xfs /dev/sdb1 rw',
  '23 21 0:41 / /srv/nfs rw - nfs4 10.0.0.7:/export rw',
  '24 23 0:42 / /srv/nfs/inner rw - nfs4 other:/inner rw',
  '25 21 0:43 / /srv/share rw - cifs //server/share rw',
  '26 21 0:44 / /srv/lustre rw - lustre 10.0.0.1@tcp:10.0.0.2@tcp:/scratch rw',
  '27 21 0:45 / /srv/ceph rw - ceph user@b3acb9.cephfs=/ rw',
  '28 21 0:46 / /srv/bucket rw - fuse.s3fs s3fs rw',
].join('\n');

const nameOf = (storage: string, mounts = MOUNTS) => sourceNameOf(storage, () => Promise.resolve(mounts));

it('[U9] calls a directory by what a server gives to its mount, so that other datasets there share it', async () => {
  expect(await nameOf('file:///srv/nfs/imagenet/')).toBe('10.0.0.7:/export');
  expect(await nameOf('file:///srv/nfs/coco/train/')).toBe('10.0.0.7:/export');
  expect(await nameOf('file:///srv/nfs/inner/')).toBe('other:/inner');
  expect(await nameOf('file:///srv/share/a/')).toBe('//server/share');
  expect(await nameOf('file:///srv/lustre/a/')).toBe('10.0.0.1@tcp:10.0.0.2@tcp:/scratch');
  expect(await nameOf('file:///srv/ceph/a/')).toBe('user@b3acb9.cephfs=/');
});

it('[U9] calls a directory by its mount point where no server is named', async () => {
  expect(await nameOf('file:///srv/local disk/imagenet/')).toBe('file:///srv/local disk');
  expect(await nameOf('file:///srv/bucket/imagenet/')).toBe('file:///srv/bucket');
  expect(await nameOf('file:///elsewhere/')).toBe('file:///');
});

it('[U9] calls a directory by its own name where the mounts are not known', async () => {
  expect(await nameOf('file:///nowhere/imagenet/', '')).toBe('file:///nowhere/imagenet');
  expect(await sourceNameOf('file:///', () => Promise.reject(new Error('no /proc')))).toBe('file:///');
});

it('[U9] calls a bucket by its address, and anything by what can stand in a record', async () => {
  expect(await nameOf('s3://imagenet/')).toBe('s3://imagenet');
  expect(await nameOf('http://10.0.0.9:9000/imagenet/')).toBe('http://10.0.0.9:9000/imagenet');
  expect(await nameOf('gcs://storage.googleapis.com/imagenet/')).toBe(
    'gcs://storage.googleapis.com/imagenet',
  );
  expect(await nameOf('memory')).toBe('memory');
  expect(await nameOf(`odd\n${'x'.repeat(300)}`)).toHaveLength(256);
  expect(await nameOf('odd\n')).toBe('odd?');
  // No letter is cut in two: half of one cannot stand in a record.
  expect(await nameOf(`s3://${'\u{1F5BC}'.repeat(300)}x`)).toBe(`${'\u{1F5BC}'.repeat(255)}x`);
});
