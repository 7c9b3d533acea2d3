import type { FileMetaData, ParquetType, SchemaElement } from 'hyparquet';
import { ByteWriter } from 'hyparquet-writer';
import { writeMetadata } from 'hyparquet-writer/src/metadata.js';
import { serializeTCompactProtocol } from 'hyparquet-writer/src/thrift.js';
import { concat } from './bytes.js';

const tail = (length: number) => {
  const bytes = Buffer.from('0000PAR1');
  bytes.writeUInt32LE(length);
  return bytes;
};

/** A file of column chunks and of a footer, whatever they are. */
export function fileOfParts(chunks: Uint8Array, footer: Uint8Array): Uint8Array {
  return concat(Buffer.from('PAR1'), chunks, footer, tail(footer.byteLength));
}

/** What a page header says, by the numbers of its fields in parquet.thrift. */
type Fields = Readonly<Record<`field_${number}`, unknown>>;

/** A struct, as Thrift's compact protocol writes it. */
export function struct(fields: Fields): Uint8Array {
  const writer = new ByteWriter();
  serializeTCompactProtocol(writer, Object.fromEntries(Object.entries(fields).sort(byField)));
  return new Uint8Array(writer.getBuffer());
}

/** A page with a header that need not be true. */
export function page(header: Fields, content: Uint8Array): Uint8Array {
  const sizes = { field_2: content.byteLength, field_3: content.byteLength };
  return concat(struct({ field_1: 0, ...sizes, ...header }), content);
}

function byField([a]: [string, unknown], [b]: [string, unknown]): number {
  return Number(a.slice('field_'.length)) - Number(b.slice('field_'.length));
}

/** A data page of version 1. Encodings are by their numbers in parquet.thrift. */
export function dataPage(count: number, encoding: number, content: Uint8Array): Uint8Array {
  return page({ field_5: { field_1: count, field_2: encoding, field_3: 3, field_4: 3 } }, content);
}

/** A data page of version 2, without nulls. */
export function dataPageV2(count: number, encoding: number, content: Uint8Array, levels = 0): Uint8Array {
  const about = {
    field_1: count,
    field_2: 0,
    field_3: count,
    field_4: encoding,
    field_5: levels,
    field_6: 0,
  };
  return page({ field_1: 3, field_8: about }, content);
}

/** A footer; and where it is of interest, one that lies. */
export interface FileOptions {
  readonly type?: ParquetType;
  readonly rows?: number;
  readonly repetition?: 'REQUIRED' | 'OPTIONAL';
  readonly change?: (metadata: FileMetaData) => void;
}

/** A file of one column that has these pages. */
export function fileOfPages(
  pages: readonly Uint8Array[],
  { type = 'INT32', rows = 4, repetition = 'REQUIRED', change }: FileOptions = {},
): Uint8Array {
  const chunk = concat(...pages);
  const schema: SchemaElement[] = [
    { name: 'root', num_children: 1 },
    { name: 'a', type, repetition_type: repetition },
  ];
  const about = {
    type,
    encodings: [],
    path_in_schema: ['a'],
    codec: 'UNCOMPRESSED' as const,
    num_values: BigInt(rows),
    total_uncompressed_size: BigInt(chunk.byteLength),
    total_compressed_size: BigInt(chunk.byteLength),
    data_page_offset: 4n,
  };
  const columns = [{ file_offset: 0n, meta_data: about }];
  const group = { columns, total_byte_size: BigInt(chunk.byteLength), num_rows: BigInt(rows) };
  const metadata: FileMetaData = {
    version: 2,
    schema,
    num_rows: BigInt(rows),
    row_groups: [group],
    metadata_length: 0,
  };
  change?.(metadata);
  const writer = new ByteWriter();
  writeMetadata(writer, metadata);
  const [length] = new Uint32Array(writer.getBuffer().slice(-4));
  const footer = new Uint8Array(writer.getBuffer()).subarray(0, length);
  return fileOfParts(chunk, footer);
}
