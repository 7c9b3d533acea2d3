import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

/*
 * Writes the few messages of ONNX that a small model needs. Numbers of fields are those of onnx.proto.
 */

/** Of AttributeProto.AttributeType and TensorProto.DataType. */
const [INT, FLOAT] = [2, 1];

export function text(to: BinaryWriter, field: number, value: string): void {
  to.tag(field, WireType.LengthDelimited).string(value);
}

export function integer(to: BinaryWriter, field: number, value: number): void {
  to.tag(field, WireType.Varint).int64(value);
}

/** A message in a field of another one. */
export function message(to: BinaryWriter, field: number, write: (to: BinaryWriter) => void): void {
  to.tag(field, WireType.LengthDelimited).fork();
  write(to);
  to.join();
}

/** NodeProto, in a graph. */
export function node(
  graph: BinaryWriter,
  type: string,
  inputs: readonly string[],
  output: string,
  attributes: Readonly<Record<string, number>> = {},
): void {
  message(graph, 1, (to) => {
    for (const input of inputs) text(to, 1, input);
    text(to, 2, output);
    text(to, 4, type);
    for (const [name, number] of Object.entries(attributes)) {
      message(to, 5, (attribute) => {
        text(attribute, 1, name);
        integer(attribute, 3, number);
        integer(attribute, 20, INT);
      });
    }
  });
}

/** TensorProto of floats, as an initializer of a graph. */
export function initializer(
  graph: BinaryWriter,
  name: string,
  shape: readonly number[],
  values: Float32Array,
): void {
  message(graph, 5, (to) => {
    for (const size of shape) integer(to, 1, size);
    integer(to, 2, FLOAT);
    text(to, 8, name);
    to.tag(9, WireType.LengthDelimited).bytes(new Uint8Array(values.buffer));
  });
}

/** ValueInfoProto, as an input or output of a graph. Sizes that are not fixed have names. */
export function value(
  graph: BinaryWriter,
  field: number,
  name: string,
  type: number,
  shape: readonly (string | number)[],
): void {
  message(graph, field, (to) => {
    text(to, 1, name);
    message(to, 2, (types) => {
      message(types, 1, (tensor) => {
        integer(tensor, 1, type);
        message(tensor, 2, (sizes) => {
          for (const size of shape) {
            message(sizes, 1, (dimension) => {
              if (typeof size === 'string') text(dimension, 2, size);
              else integer(dimension, 1, size);
            });
          }
        });
      });
    });
  });
}
