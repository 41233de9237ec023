"""LSTM and attention over sequences, which come and go as (batch, steps, features) and are (steps, batch, features) in a loop."""

from typing import Dict, Tuple

import tensorflow as tf

from harness.core import BuildRequest

Values = Dict[str, tf.Variable]


def project(x: tf.Tensor, weight: tf.Tensor) -> tf.Tensor:
    """Return ``x @ weight`` as one product of matrices, which tf.matmul would make one of each sample."""
    if x.shape.rank == 2:
        return tf.matmul(x, weight)
    flat = tf.matmul(tf.reshape(x, (-1, x.shape[-1])), weight)
    return tf.reshape(flat, x.shape[:-1] + flat.shape[-1:])


def lstm(x: tf.Tensor, values: Values, request: BuildRequest, suffix: str = "") -> tf.Tensor:
    """Return h of every step."""
    weights = [values[role + suffix] for role in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    fused = request.device != "cpu" and request.variant == "function"
    h = (_cudnn if fused else _looped)(tf.transpose(x, (1, 0, 2)), *weights, train=request.mode == "train")
    return tf.transpose(h, (1, 0, 2))


def bilstm(x: tf.Tensor, length: tf.Tensor, values: Values, request: BuildRequest) -> tf.Tensor:
    """Return h of both directions side by side, zero past each sample's length."""
    onward = lstm(x, values, request)
    back = lstm(tf.reverse_sequence(x, length, seq_axis=1), values, request, "_reverse")
    both = tf.concat([onward, tf.reverse_sequence(back, length, seq_axis=1)], 2)
    return both * tf.sequence_mask(length, x.shape[1], x.dtype)[:, :, None]


def _cudnn(x: tf.Tensor, weight_ih: tf.Tensor, weight_hh: tf.Tensor, bias_ih: tf.Tensor, bias_hh: tf.Tensor, train: bool) -> tf.Tensor:
    """cuDNN has the gates, the biases and their order as the neutral graph has them, in one vector."""
    steps, batch, _ = x.shape
    params = [tf.reshape(tf.transpose(weight), (-1,)) for weight in (weight_ih, weight_hh, bias_ih, bias_hh)]
    state = tf.zeros((1, batch, weight_hh.shape[0]), x.dtype)
    lengths = tf.fill((batch,), steps)
    return tf.raw_ops.CudnnRNNV3(
        input=x, input_h=state, input_c=state, params=tf.concat(params, 0), sequence_lengths=lengths, rnn_mode="lstm", is_training=train
    ).output


def _looped(x: tf.Tensor, weight_ih: tf.Tensor, weight_hh: tf.Tensor, bias_ih: tf.Tensor, bias_hh: tf.Tensor, train: bool) -> tf.Tensor:
    """Only the product with h is left to the loop."""
    projected = tf.nn.bias_add(project(x, weight_ih), bias_ih + bias_hh)
    weight = tf.convert_to_tensor(weight_hh)
    return _recurrence(projected, weight) if train else _onward(projected, weight, keep=False)[0]


@tf.custom_gradient
def _recurrence(projected: tf.Tensor, weight: tf.Tensor) -> Tuple[tf.Tensor, object]:
    """The loop with a gradient written by hand: TensorFlow's own of a loop, and that of its BlockLSTM, make a product for
    the gradient of ``weight`` in each step, which takes as long as all the rest."""
    h, gates, c = _onward(projected, weight, keep=True)

    def gradient(h_grad: tf.Tensor) -> Tuple[tf.Tensor, tf.Tensor]:
        gates_grad = _backward(h_grad, weight, gates, c)
        before, after = tf.reshape(h[:-1], (-1, h.shape[2])), tf.reshape(gates_grad[1:], (-1, gates.shape[2]))
        return gates_grad, tf.matmul(before, after, transpose_a=True)

    return h, gradient


def _onward(projected: tf.Tensor, weight: tf.Tensor, keep: bool) -> Tuple[tf.Tensor, ...]:
    """Return h of all steps and, to ``keep`` for the way back, the gates before they are squashed and c."""
    steps, batch, width = projected.shape
    state = tf.zeros((batch, width // 4), projected.dtype)
    kept = [tf.TensorArray(projected.dtype, steps, element_shape=(batch, size)) for size in (width // 4, width, width // 4)]

    def body(t: tf.Tensor, h: tf.Tensor, c: tf.Tensor, *arrays: tf.TensorArray) -> Tuple[object, ...]:
        gates = projected[t] + tf.matmul(h, weight)
        i, f, g, o = tf.split(gates, 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
        return (t + 1, h, c) + tuple(array.write(t, value) for array, value in zip(arrays, (h, gates, c)))

    first = (tf.constant(0), state, state) + tuple(kept if keep else kept[:1])
    last = tf.while_loop(lambda t, *_: t < steps, body, first, parallel_iterations=1, maximum_iterations=steps)
    return tuple(array.stack() for array in last[3:])


def _backward(h_grad: tf.Tensor, weight: tf.Tensor, gates: tf.Tensor, c: tf.Tensor) -> tf.Tensor:
    """Return the gradient of ``gates``. What does not depend on a later step is computed for all steps at once."""
    steps, batch, width = gates.shape
    i, f, g, o = tf.split(gates, 4, axis=2)
    i, f, g, o, squashed = tf.sigmoid(i), tf.sigmoid(f), tf.tanh(g), tf.sigmoid(o), tf.tanh(c)
    before = tf.concat([tf.zeros_like(c[:1]), c[:-1]], 0)
    from_c = tf.concat([g * i * (1 - i), before * f * (1 - f), i * (1 - g * g)], 2)
    from_h, h_to_c = squashed * o * (1 - o), o * (1 - squashed * squashed)
    back = tf.transpose(weight)
    state = tf.zeros((batch, width // 4), gates.dtype)

    def body(t: tf.Tensor, dh: tf.Tensor, dc: tf.Tensor, array: tf.TensorArray) -> Tuple[object, ...]:
        dh = dh + h_grad[t]
        dc = dc + dh * h_to_c[t]
        step = tf.concat([tf.tile(dc, (1, 3)) * from_c[t], dh * from_h[t]], 1)
        return t - 1, tf.matmul(step, back), dc * f[t], array.write(t, step)

    first = (tf.constant(steps - 1), state, state, tf.TensorArray(gates.dtype, steps, element_shape=(batch, width)))
    return tf.while_loop(lambda t, *_: t >= 0, body, first, parallel_iterations=1, maximum_iterations=steps)[3].stack()


def attention(query: tf.Tensor, memory: tf.Tensor, length: tf.Tensor, values: Values) -> tf.Tensor:
    """Return the weighted mean of ``memory`` for each query step."""
    q = project(query, values["query"])
    k = tf.nn.bias_add(project(memory, values["key"]), values["bias"])
    direction = values["scale"] * values["vector"] / tf.norm(values["vector"])  # l2_normalize would add an epsilon
    scores = project(tf.tanh(q[:, :, None] + k[:, None]), direction[:, None])[..., 0]
    there = tf.sequence_mask(length, memory.shape[1])[:, None]
    shares = tf.nn.softmax(tf.where(there, scores, scores.dtype.min))
    return tf.matmul(shares, memory)
