"""The pins that the functions get are the pins that the tests ran with."""

from __future__ import annotations

import tomllib
from importlib.metadata import distribution, requires, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
# What a wheel's markers see in the Lambda runtime.
LAMBDA = {"python_version": "3.13", "python_full_version": "3.13.0", "extra": ""}


def layer_pins() -> dict[str, str]:
    lines = (ROOT / "layers/dependencies/requirements.txt").read_text().splitlines()
    pins = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): pinned for name, pinned in pins}


def declared() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [Requirement(line) for line in project["dependencies"]]


def needed_by(name: str, found: set[str]) -> set[str]:
    if canonicalize_name(name) in found:
        return found
    found.add(canonicalize_name(name))
    for line in requires(name) or []:
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate(LAMBDA):
            needed_by(requirement.name, found)
    return found


def test_the_layer_holds_what_the_project_declares_with_all_that_it_brings_and_nothing_else() -> None:
    closure: set[str] = set()
    for requirement in declared():
        needed_by(requirement.name, closure)
    assert closure == set(layer_pins())


def test_the_layer_s_pins_are_the_versions_that_are_installed_here() -> None:
    assert {name: version(name) for name in layer_pins()} == layer_pins()


def test_every_dependency_is_pinned_exactly() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    optional = [line for lines in project["optional-dependencies"].values() for line in lines]
    loose = [line for line in project["dependencies"] + optional if "==" not in line]
    assert loose == ["casegraph[local]"]


def test_the_layer_brings_no_boto3() -> None:
    assert not {"boto3", "botocore"} & set(layer_pins())


def test_the_installed_package_is_this_one() -> None:
    assert distribution("casegraph").version
