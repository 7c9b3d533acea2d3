import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { PIXELS, type Digits } from '../mnist/mnist.js';
import { initializer, integer, message, node, text, value } from './messages.js';

const CLASSES = 10;
/** Of ONNX: TensorProto.DataType. */
const [FLOAT, UINT8, INT64] = [1, 2, 7];

/**
 * A classifier as an ONNX model, about as small as they get: a digit is the one whose mean image is nearest.
 * Its input `images` are bytes [batch, pixels], its output `digits` are numbers [batch].
 *
 * |x - mean|^2 is smallest where 2 x mean - |mean|^2 is largest, so it is one product and one sum.
 */
export function nearestMean(digits: Digits, count: number): Uint8Array {
  const means = Array.from({ length: CLASSES }, (_, label) => meanOf(digits, count, label));
  const weights = Float32Array.from({ length: PIXELS * CLASSES }, (_, i) => {
    const mean = means[i % CLASSES]?.[Math.floor(i / CLASSES)] ?? 0;
    return 2 * mean;
  });
  const bias = Float32Array.from(means, (mean) => -mean.reduce((sum, pixel) => sum + pixel ** 2, 0));
  const model = new BinaryWriter();
  // Version 8 of the format, version 13 of the operators.
  integer(model, 1, 8);
  message(model, 8, (operators) => integer(operators, 2, 13));
  message(model, 7, (to) => {
    node(to, 'Cast', ['images'], 'floats', { to: FLOAT });
    node(to, 'MatMul', ['floats', 'weights'], 'products');
    node(to, 'Add', ['products', 'bias'], 'scores');
    node(to, 'ArgMax', ['scores'], 'digits', { axis: 1, keepdims: 0 });
    text(to, 2, 'nearest-mean');
    initializer(to, 'weights', [PIXELS, CLASSES], weights);
    initializer(to, 'bias', [CLASSES], bias);
    value(to, 11, 'images', UINT8, ['batch', PIXELS]);
    value(to, 12, 'digits', INT64, ['batch']);
  });
  return model.finish();
}

function meanOf(digits: Digits, count: number, label: number): Float32Array {
  const sum = new Float32Array(PIXELS);
  let found = 0;
  for (let i = 0; i < count; i++) {
    if (digits.label(i) !== label) continue;
    found += 1;
    for (const [pixel, byte] of digits.image(i).entries()) sum[pixel] = (sum[pixel] ?? 0) + byte;
  }
  return sum.map((pixel) => pixel / found);
}
