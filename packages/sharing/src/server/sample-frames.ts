import type { Sample } from '@tiered/prefetch';
import { encodeHead, MAX_PAYLOAD_BYTES, SERVER_FRAMES } from '../wire/protocol.js';
import { isListable, listFrames, type PlacedHead } from '../wire/sample-lists.js';
import type { ServerMemory } from './server-memory.js';

/**
 * Small samples are written together, about this many bytes at a time, so that a system call costs little
 * relative to the bytes.
 */
const GROUP_BYTES = 256 * 1024;

/** Frames that are written together. */
interface Group {
  readonly frames: readonly Uint8Array[];
  /** Samples whose bytes are among the frames. They may be released once the frames are written. */
  readonly sent: readonly Sample[];
}

/** Options of the answer to a take. */
interface Answering {
  /** The id of the request. */
  readonly id: number;
  /** The memory for samples; undefined if all go through the socket. */
  readonly memory: ServerMemory | undefined;
  /** Whether the client understands lists. */
  readonly lists: boolean;
}

/**
 * Yields the frames to write for samples of one epoch, in order. Samples placed in shared memory are released
 * at once. A group ends only after a sample that goes through the socket, so a group without such a sample is
 * the last.
 */
export function* groupsOf(
  samples: readonly Sample[],
  { id, memory, lists }: Answering,
): Generator<Group, void, undefined> {
  let frames: Uint8Array[] = [];
  let sent: Sample[] = [];
  let bytes = 0;
  let placed: PlacedHead[] = [];
  for (const sample of samples) {
    const head = placedIn(memory, sample);
    if (head !== undefined) {
      if (lists && isListable(head)) placed.push(head);
      else frames.push(...listFrames(id, placed.splice(0)), encodeHead(SERVER_FRAMES.sample, id, head));
      continue;
    }
    bytes += sample.data.byteLength;
    frames.push(...listFrames(id, placed), ...framesOf(id, sample));
    sent.push(sample);
    placed = [];
    if (bytes < GROUP_BYTES) continue;
    yield { frames, sent };
    [frames, sent, bytes] = [[], [], 0];
  }
  frames.push(...listFrames(id, placed));
  if (frames.length > 0) yield { frames, sent };
}

/** Places a sample in shared memory and releases it. Undefined if there is no room for it. */
function placedIn(memory: ServerMemory | undefined, sample: Sample): PlacedHead | undefined {
  const { key, epoch, position, data } = sample;
  const place = memory?.place(data);
  if (place === undefined) return undefined;
  const size = data.byteLength;
  sample.release();
  return { key, epoch, position, size, offset: place.offset, piece: place.piece };
}

/** Makes the header, body and bytes of a sample, in as many frames as it needs. */
function framesOf(id: number, sample: Sample): Uint8Array[] {
  const { key, epoch, position, data } = sample;
  const size = data.byteLength;
  const first = data.subarray(0, MAX_PAYLOAD_BYTES);
  const head = { key, epoch, position, size };
  const parts = [encodeHead(SERVER_FRAMES.sample, id, head, first.byteLength), first];
  for (let at = MAX_PAYLOAD_BYTES; at < size; at += MAX_PAYLOAD_BYTES) {
    const piece = data.subarray(at, at + MAX_PAYLOAD_BYTES);
    parts.push(encodeHead(SERVER_FRAMES.data, id, undefined, piece.byteLength), piece);
  }
  return parts;
}
