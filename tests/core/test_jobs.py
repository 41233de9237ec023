"""A job survives the pipe, and a wrong one is refused by the name of its field."""

import json

import pytest

from harness.core import HarnessError, Optimizer, jobs

from . import tiny

JOB = tiny.JOB._replace(model="resnet18", cpus=(2, 5, 7))


def document(**changes):
    return dict(JOB.to_json(), **changes)


def refusal(wrong):
    with pytest.raises(HarnessError) as error:
        jobs.parse(wrong)
    return str(error.value)


def test_a_job_survives_json():
    assert jobs.parse(json.loads(json.dumps(JOB.to_json()))) == JOB


def test_a_parsed_job_cannot_be_changed():
    job = jobs.parse(json.loads(json.dumps(JOB.to_json())))
    assert isinstance(hash(job), int)  # no list anywhere in it
    with pytest.raises(AttributeError):
        job.batch = 1


def test_parsing_leaves_the_document_alone():
    given = document(cpus=[1])
    jobs.parse(given)
    assert given == document(cpus=[1])


def test_the_document_carries_its_version():
    assert JOB.to_json()["version"] == jobs.VERSION


@pytest.mark.parametrize("wrong", [None, [], "job", {}, document(version=0), document(version="1")], ids=repr)
def test_another_version_is_refused(wrong):
    assert refusal(wrong) == "job: this worker reads version 1 of the job document"


@pytest.mark.parametrize("field", jobs.Job._fields)
def test_a_missing_field_is_named(field):
    wrong = document()
    del wrong[field]
    given, known = refusal(wrong).split(" differ from ")
    assert f"'{field}'" not in given
    assert f"'{field}'" in known


def test_an_unknown_field_is_named():
    given, known = refusal(document(colour="red")).split(" differ from ")
    assert "'colour'" in given
    assert "'colour'" not in known


WRONG = [
    ("adapter", ""),
    ("package", 3),
    ("model", "resnet5o"),
    ("model", ["resnet50"]),
    ("mode", "training"),
    ("device", None),
    ("precision", "fp99"),
    ("batch", 0),
    ("batch", -1),
    ("batch", "8"),
    ("batch", 2.5),
    ("batch", True),
    ("size", "64"),
    ("cpus", []),
    ("cpus", None),
    ("cpus", 0),
    ("cpus", "01"),
    ("cpus", [-1]),
    ("seed", None),
    ("gates", None),
    ("gates", "fp64"),
    ("gates", ["fp16"]),
    ("track", "mached"),
    ("build", "natve"),
    ("images", "cat.png"),
]


@pytest.mark.parametrize("field, value", WRONG, ids=repr)
def test_a_wrong_value_is_named_with_its_field(field, value):
    assert refusal(document(**{field: value})).startswith(f"job.{field} is {value!r}: it must be ")


def test_every_field_has_a_rule():
    assert set(jobs.RULES) == set(jobs.Job._fields) == {field for field, _ in WRONG} | {"variant"}


def test_a_request_asks_for_as_many_threads_as_cpus():
    request = JOB.request("fp64", 3, Optimizer(lr=0.5))
    assert (request.threads, request.batch, request.precision, request.optimizer.lr) == (3, 3, "fp64", 0.5)
    assert (request.mode, request.device, request.variant) == (JOB.mode, JOB.device, JOB.variant)
