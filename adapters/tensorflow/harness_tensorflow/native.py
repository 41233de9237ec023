"""The native twin: ResNet-50 v1.5 as a Keras user writes it, to measure what lowering from the graph costs."""

from typing import Any, Dict, Tuple

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from harness.core import BuildRequest, Graph, Optimizer, Unsupported
from harness_tensorflow import layout
from harness_tensorflow.adapter import DTYPES, Session, Step, configure, device_name, prepare

# Names of a layer's variables by the role of the neutral parameter.
TENSORS = {"weight": "kernel", "bias": "bias", "gamma": "gamma", "beta": "beta", "mean": "moving_mean", "var": "moving_variance"}


def conv_bn(x: Any, name: str, number: str, filters: int, kernel: int, stride: int = 1) -> Any:
    padding = "same" if stride == 1 else "valid"
    if stride > 1 and kernel > 1:  # "same" would put all of an odd total at the bottom and right
        x = layers.ZeroPadding2D(kernel // 2)(x)
    x = layers.Conv2D(filters, kernel, stride, padding, use_bias=False, name="%sconv%s" % (name, number))(x)
    return layers.BatchNormalization(momentum=0.9, epsilon=1e-5, name="%sbn%s" % (name, number))(x)


def bottleneck(x: Any, name: str, width: int, stride: int) -> Any:
    y = layers.ReLU()(conv_bn(x, name, "1", width, 1))
    y = layers.ReLU()(conv_bn(y, name, "2", width, 3, stride))
    y = conv_bn(y, name, "3", 4 * width, 1)
    if stride != 1 or x.shape[-1] != 4 * width:
        x = conv_bn(x, name + "down_", "", 4 * width, 1, stride)
    return layers.ReLU()(layers.Add()([y, x]))


def resnet50(side: int) -> keras.Model:
    image = keras.Input((side, side, 3))
    x = layers.ReLU()(conv_bn(image, "", "1", 64, 7, 2))
    x = layers.MaxPooling2D(3, 2)(layers.ZeroPadding2D(1)(x))  # zeros never win over what a ReLU returns
    for stage, (width, count) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3)), start=1):
        for index in range(count):
            x = bottleneck(x, "layer%d.%d." % (stage, index), width, 2 if stage > 1 and index == 0 else 1)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(image, layers.Dense(1000, name="fc")(x))


def load(model: keras.Model, graph: Graph, weights: Dict[str, np.ndarray]) -> Dict[str, layout.Weight]:
    """Copy what the graph says to the layers, whose names it shares, and return their variables by parameter name."""
    loaded = {}
    for name, spec in graph.params.items():
        shape = weights[name].shape
        wanted = {1: layout.plain_layout, 2: layout.dense_layout, 4: layout.conv_layout}[len(shape)](shape)
        variable = getattr(model.get_layer(name.rpartition(".")[0]), TENSORS[spec.role])
        variable.assign(wanted.inward(weights[name]))
        loaded[name] = layout.Weight(variable.value, wanted)
    for node in graph.nodes:
        if node.op == "batch_norm":  # the parity gate asks for a momentum of its own
            model.get_layer(node.name).momentum = 1 - node.attrs["momentum"]
    return loaded


def training(model: keras.Model, rule: Optimizer) -> Step:
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = keras.optimizers.SGD(rule.lr, rule.momentum)
    optimizer.build(model.trainable_variables)

    def step(image: tf.Tensor, labels: tf.Tensor) -> Tuple[tf.Tensor, ...]:
        with tf.GradientTape() as tape:
            logits = model(image, training=True)
            loss = loss_of(labels, logits)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return logits, loss

    return step


def build_native(graph: Graph, weights: Dict[str, np.ndarray], request: BuildRequest) -> Session:
    """Return a session of the twin with the neutral weights. Keras keeps the running variance over N."""
    if graph.name != "resnet50":
        raise Unsupported(graph.name, "the native twin is ResNet-50")
    configure(request)
    keras.config.set_floatx(DTYPES[request.precision].name)  # losses and optimisers follow this, layers the policy
    keras.config.set_dtype_policy(DTYPES[request.precision].name)
    with tf.device(device_name(request.device)):
        model = resnet50(graph.inputs[0].shape[-1])
        variables = load(model, graph, weights)
        step = training(model, request.optimizer) if request.mode == "train" else lambda image: (model(image, training=False),)
    return prepare(step, graph, variables, request, running_var="biased")
