"""Which cells there are, and which are N/A before anything runs."""

import pytest
from helpers import CELL, NUMPY, suite

from harness import adapters, matrix
from harness.adapters import Gap
from harness.config import Suite
from harness.errors import UserError
from harness.matrix import Cell, Filters


@pytest.fixture
def known():
    """The numpy fixture, and another that has two variants and a GPU build."""
    numpy = adapters.load(NUMPY)
    devices = {"cpu": {"lock": "locks/cpu.txt"}, "cuda": {"lock": "locks/cpu.txt"}}
    fields = {**numpy.manifest.model_dump(), "name": "other", "title": "Other", "variants": ("eager", "compiled"), "devices": devices}
    return {"numpy": numpy, "other": numpy.model_copy(update={"manifest": adapters.Manifest(**fields), "gaps": ()})}


def wanted(**changes):
    return Suite.model_validate(suite(**changes))


UUIDS = [f"GPU-0000000{number}-8a4b-1c3d-9e7f-0123456789ab" for number in range(4)]


def missing(gpus):
    """The question about devices on a host with so many GPUs."""
    return matrix.device_missing([{"index": number, "uuid": UUIDS[number]} for number in range(gpus)])


def planned(suite, known, gpus=0):
    return matrix.plan(suite, known, missing(gpus), matrix.engine_missing({}, None))


def reason(known, adapter="other", gpus=1, gaps=(), **changes):
    """Why one cell is N/A."""
    adapter = known[adapter].model_copy(update={"gaps": tuple(gaps)} if gaps else {})
    cell = Cell(**{**CELL, "adapter": adapter.name, "variant": "eager", **changes})
    return matrix.why_not(cell, adapter) or missing(gpus)(cell.device) or matrix.known_gap(cell, adapter)


def test_the_product_of_the_lists(known):
    lists = {"adapters": ["numpy", "other"], "models": ["nin", "vgg16"], "modes": ["train", "infer"], "devices": ["cpu", "cuda"]}
    cells = [item.cell for item in planned(wanted(**lists, batches={"nin": 7}, size=None), known)]
    assert len(cells) == len({cell.key for cell in cells}) == 16
    assert {(cell.model, cell.batch, cell.size) for cell in cells} == {("nin", 7, 224), ("vgg16", 2, 224)}
    assert {(cell.adapter, cell.variant) for cell in cells} == {("numpy", "honest"), ("other", "eager")}  # the first of each
    groups = [cell.group for cell in cells]
    assert all(groups[i] == groups[i + 1] for i in range(0, 16, 2)), "rivals of one group follow each other"


def test_a_model_whose_samples_have_no_size_keeps_its_own(known):
    cells = [item.cell for item in planned(wanted(adapters=["numpy"], models=["ncf", "gnmt", "nin"], size=64), known)]
    assert [(cell.model, cell.size) for cell in cells] == [("ncf", 1), ("gnmt", 64), ("nin", 64)]


def test_listed_variants_replace_the_first(known):
    cells = planned(wanted(adapters=["numpy", "other"], variants={"other": ["compiled", "eager"]}), known)
    assert [(p.cell.adapter, p.cell.variant) for p in cells] == [("numpy", "honest"), ("other", "compiled"), ("other", "eager")]


def test_filters_narrow_and_add(known):
    names = {"adapters": ("other",), "models": ("nin",), "variants": ("other=compiled",)}
    chosen = Filters(**names, modes=("train",), devices=("cuda:1",), batches=(3,))
    narrowed = matrix.narrow(wanted(batches={"nin": 9}), chosen, known)
    (item,) = planned(narrowed, known)
    assert item.cell.key == "nin/train/cuda:1/fp32/b3/s32/other/compiled"


def test_no_filter_changes_nothing(known):
    assert matrix.narrow(wanted(), Filters(), known) == wanted()


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ({"adapters": ("nunpy",)}, "'nunpy' is no adapter. Did you mean 'numpy'? There are: numpy, other."),
        ({"models": ("resnet5O",)}, "'resnet5O' is no model. Did you mean 'resnet50'?"),
        ({"variants": ("other=complied",)}, "'complied' is no variant of other. Did you mean 'compiled'? There are: compiled, eager."),
        ({"variants": ("third=x",)}, "'third' is no adapter."),
        ({"variants": ("compiled",)}, "--variant 'compiled': write ADAPTER=VARIANT"),
        ({"variants": ("other=",)}, "--variant 'other=': write ADAPTER=VARIANT"),
    ],
)
def test_unknown_names(known, filters, message):
    with pytest.raises(UserError) as caught:
        matrix.narrow(wanted(), Filters(**filters), known)
    assert message in str(caught.value)


def test_an_unknown_model_in_batches(known):
    with pytest.raises(UserError, match=r"'resnet81' is no model. Did you mean 'resnet18'?"):
        matrix.narrow(wanted(batches={"resnet81": 1}), Filters(), known)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, None),
        ({"adapter": "numpy", "device": "cuda"}, "NumPy has no cuda build in this adapter"),
        ({"precision": "bf16"}, "the Other adapter runs fp32, not bf16"),
        ({"model": "nin", "size": 20}, "no network at 20 pixels: nin: node 'pool2': max_pool2d: kernel 3 is larger than the padded map 1"),
        ({"device": "cuda", "gpus": 0}, "this host has no NVIDIA GPU (or no driver for it)"),
        ({"device": "cuda"}, None),
        ({"device": "cuda:0"}, None),
        ({"device": "cuda:3"}, "this host has 1 NVIDIA GPU(s), so there is no cuda:3"),
        ({"device": UUIDS[0]}, None),
        ({"device": UUIDS[1]}, f"this host has 1 NVIDIA GPU(s), so there is no {UUIDS[1]}"),
        ({"device": UUIDS[1], "gpus": 2}, None),
        ({"device": UUIDS[0], "gpus": 0}, "this host has no NVIDIA GPU (or no driver for it)"),
        ({"adapter": "numpy", "device": UUIDS[0]}, "NumPy has no cuda build in this adapter"),
    ],
)
def test_reasons(known, given, message):
    found = reason(known, **given)
    assert found == message if message is None else found.startswith(message), found


@pytest.mark.parametrize(
    ("selector", "hit", "miss"),
    [
        ({"op": "dropout"}, {"model": "nin", "size": 96}, {"model": "resnet18"}),
        ({"model": "nin"}, {"model": "nin", "size": 96}, {"model": "resnet18"}),
        ({"mode": "train"}, {"mode": "train"}, {"mode": "infer"}),
        ({"variant": "compiled"}, {"variant": "compiled"}, {"variant": "eager"}),
        ({"device": "cuda"}, {"device": "cuda:0"}, {"device": "cpu"}),
        ({"device": "cuda:0"}, {"device": "cuda:0"}, {"device": "cuda"}),
        ({"device": "cuda"}, {"device": UUIDS[0]}, {"device": "cpu"}),
        ({"precision": "fp32"}, {}, {"model": "nin", "size": 20}),
        ({"mode": "train", "variant": "compiled"}, {"mode": "train", "variant": "compiled"}, {"mode": "train"}),
        ({}, {}, {"model": "nin", "size": 20}),
    ],
)
def test_a_gap_selects(known, selector, hit, miss):
    gaps = [Gap(reason="upstream bug", **selector)]
    assert reason(known, gaps=gaps, **hit) == "upstream bug"
    assert reason(known, gaps=gaps, **miss) != "upstream bug"


def test_a_gap_by_op_looks_at_what_the_mode_needs(known):
    """Inference has no loss, so a gap of the loss concerns training alone."""
    gaps = [Gap(reason="no loss here", op="softmax_cross_entropy")]
    assert reason(known, gaps=gaps, mode="train") == "no loss here"
    assert reason(known, gaps=gaps, mode="infer") is None


def test_the_baseline_comes_twice_where_its_noise_is_wanted(known):
    cells = [item.cell for item in planned(wanted(adapters=["numpy", "other"], aa=True, baseline="other"), known)]
    assert [(cell.name, cell.copy_number) for cell in cells] == [("numpy honest", 1), ("other eager", 1), ("other eager #2", 2)]
    assert len({cell.key for cell in cells}) == 3 and len({cell.group for cell in cells}) == 1


def test_each_track_is_a_group_of_its_own(known):
    cells = [item.cell for item in planned(wanted(adapters=["numpy", "other"], tracks=["as-shipped", "matched"]), known)]
    assert [(cell.adapter, cell.track) for cell in cells] == [
        ("numpy", "as-shipped"),
        ("other", "as-shipped"),
        ("numpy", "matched"),
        ("other", "matched"),
    ]
    assert len({cell.group for cell in cells}) == 2 and len({cell.key for cell in cells}) == 4


def test_a_baseline_must_be_measured(known):
    with pytest.raises(UserError, match="'other' is no adapter of this run"):
        matrix.narrow(wanted(), Filters(baseline="other"), known)
