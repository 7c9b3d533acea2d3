import type { Access } from './access.js';
import { assertPiece, PIECE_BYTES, type DataObject } from './dataset.js';

/** How a loader reads. */
export interface Loader {
  /** Objects read at the same time. */
  readonly readers: number;
  /** Whether objects are read piece after piece, or whole. */
  readonly inPieces: boolean;
  /** Bytes of a piece, a multiple of `PIECE_BYTES`. Default: that. */
  readonly pieceBytes?: number;
}

/** Bytes that are read of an object at a time. */
export function pieceBytesOf({ size }: DataObject, { inPieces, pieceBytes = PIECE_BYTES }: Loader): number {
  return inPieces ? Math.min(pieceBytes, size) : size;
}

/** Reads every object once: each reader takes the next of the order when it is done with one. */
export async function readAll(
  access: Access,
  order: readonly DataObject[],
  { readers, inPieces, pieceBytes = PIECE_BYTES }: Loader,
): Promise<void> {
  const remaining = order.values();
  const reader = async () => {
    const buffer = new Uint8Array(pieceBytes);
    for (const object of remaining) {
      if (inPieces) await readPieces(access, object, buffer);
      else assertPiece(object, 0, await access.read(object), object.size);
    }
  };
  await Promise.all(Array.from({ length: readers }, reader));
}

async function readPieces(access: Access, object: DataObject, buffer: Uint8Array): Promise<void> {
  const open = await access.open(object);
  for (let offset = 0; offset < object.size; offset += buffer.byteLength) {
    const length = Math.min(buffer.byteLength, object.size - offset);
    const target = buffer.subarray(0, length);
    const count = await open.readInto(target, offset);
    assertPiece(object, offset, target.subarray(0, count), length);
  }
}
