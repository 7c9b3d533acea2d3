import * as tf from '@tensorflow/tfjs-core';
import { layers } from '@tensorflow/tfjs-layers';
import { PIXELS } from './mnist.js';
import type { SeededInitializer } from './seeded.js';

/** LeNet-5 (LeCun et al., 1998) with ReLU and maximum pooling, as frameworks' examples have it today. */
export function lenetLayers(initializer: SeededInitializer) {
  registerConvolutionGradient();
  const convolution = (filters: number) =>
    layers.conv2d({ filters, kernelSize: 5, activation: 'relu', kernelInitializer: initializer() });
  const dense = (units: number, activation: 'relu' | 'softmax') =>
    layers.dense({ units, activation, kernelInitializer: initializer() });
  return [
    layers.reshape({ inputShape: [PIXELS], targetShape: [28, 28, 1] }),
    convolution(6),
    layers.maxPooling2d({ poolSize: 2 }),
    convolution(16),
    layers.maxPooling2d({ poolSize: 2 }),
    layers.flatten(),
    dense(120, 'relu'),
    dense(84, 'relu'),
    dense(10, 'softmax'),
  ];
}

/**
 * The wasm backend has no kernel for the gradient of a convolution with respect to its filter, so LeNet can
 * be used but not trained with it. This gradient needs products of matrices only: each of the filter's cells
 * met one window of the input, so its gradient is that window, as a matrix of pixels x channels, times the
 * gradient of the output. For the convolutions of LeNet: stride 1, no padding.
 */
function registerConvolutionGradient(): void {
  tf.registerGradient({
    kernelName: 'Conv2D',
    inputsToSave: ['x', 'filter'],
    gradFunc: (outputGradient, saved) => {
      const gradient = outputGradient as tf.Tensor4D;
      const [input, filter] = saved as [tf.Tensor4D, tf.Tensor4D];
      return {
        x: () => tf.conv2dTranspose(gradient, filter, input.shape, 1, 'valid'),
        filter: () => filterGradient(input, filter, gradient),
      };
    },
  });
}

function filterGradient(input: tf.Tensor4D, filter: tf.Tensor4D, gradient: tf.Tensor4D): tf.Tensor {
  const [height, width, inputChannels, outputChannels] = filter.shape;
  const [batch, rows, columns] = gradient.shape;
  const outputs = tf.reshape(gradient, [-1, outputChannels]);
  const cells = Array.from({ length: height * width }, (_, cell) => {
    const corner = [0, Math.floor(cell / width), cell % width, 0];
    const window = tf.slice(input, corner, [batch, rows, columns, inputChannels]);
    return tf.matMul(tf.reshape(window, [-1, inputChannels]), outputs, true, false);
  });
  return tf.reshape(tf.stack(cells), filter.shape);
}
