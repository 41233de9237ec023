"""The user's pip configuration, told to uv, which reads neither pip's files nor its variables, and to the pip of an image's build."""

import ast
import os
import re
import shlex
import subprocess
import sys
import urllib.parse
import urllib.request
from pathlib import Path
from typing import NamedTuple

# What a build in a container is told. Where to install, what to log or to cache is the host's own affair.
FOR_IMAGE = (
    "cert",
    "client-cert",
    "constraint",
    "default-timeout",
    "extra-index-url",
    "find-links",
    "index-url",
    "no-binary",
    "no-index",
    "only-binary",
    "prefer-binary",
    "proxy",
    "retries",
    "timeout",
    "trusted-host",
)
INDEXES = ("index-url", "extra-index-url")
FILES = ("cert", "client-cert", "constraint", "find-links")


class Installer(NamedTuple):
    """Options and variables that make uv look where the user's pip would."""

    options: list[str]
    variables: dict[str, str]


def read() -> dict[str, str]:
    """Return pip's settings by option name, the strongest source winning: variables, then [install], then [global]."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    settings = parse(listed.stdout)
    for name, value in os.environ.items():  # where this Python has no pip, the variables can still be read
        if name.startswith("PIP_") and value:
            settings[name[4:].lower().replace("_", "-")] = value
    return settings


def parse(listing: str) -> dict[str, str]:
    """Read the lines ``section.key='value'`` of ``pip config list``."""
    sections: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}
    for line in listing.splitlines():
        name, equals, value = line.partition("=")
        section, _, key = name.rpartition(".")
        if equals and section in sections and (text := str(ast.literal_eval(value))):  # pip takes an empty value for none
            sections[section][key] = text
    return {**sections["global"], **sections["install"], **sections[":env:"]}


def installer(settings: dict[str, str]) -> Installer:
    """Translate pip's settings. Lists are separated by white space or newlines, as pip has them."""
    options = ["--index-strategy", "unsafe-best-match"]  # pip's own rule: the best version of all indexes
    if "index-url" in settings:
        options += ["--default-index", settings["index-url"]]
    for key, option in (("extra-index-url", "--index"), ("find-links", "--find-links"), ("trusted-host", "--allow-insecure-host")):
        for value in settings.get(key, "").split():
            options += [option, value]
    for value in shlex.split(settings.get("constraint", "")):
        options += ["--constraint", value]
    if settings.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        options.append("--no-index")
    variables = {}
    if "cert" in settings:
        variables["SSL_CERT_FILE"] = settings["cert"]
    if "proxy" in settings:
        variables |= {"HTTP_PROXY": settings["proxy"], "HTTPS_PROXY": settings["proxy"]}
    if "default-timeout" in settings or "timeout" in settings:
        variables["UV_HTTP_TIMEOUT"] = settings.get("timeout", settings.get("default-timeout", ""))
    return Installer(options, variables)


def without_passwords(text: str) -> str:
    """Hide the user and password of every address in ``text``: logs and reasons are for others to read."""
    return re.sub(r"://[^/\s@]+@", "://****@", text)


class Configuration(NamedTuple):
    """A pip.conf, and the places on the host that it names."""

    text: str
    places: list[str]


def for_image(settings: dict[str, str], mounts: bool) -> Configuration:
    """Write a pip.conf for a build in a container, which sees of the host only what is mounted, if it can have mounts at all.

    A local index is left out even so, as its pages may link anywhere on the host. pip itself passes over a local place that is
    not there, but not over a certificate or a constraint.
    """
    lines, places = ["[global]"], []
    for key in FOR_IMAGE:
        kept = []
        for value in settings.get(key, "").split():
            place = _place(value) if key in (*INDEXES, *FILES) else None
            if place is None:
                kept.append(value)
            elif key in FILES and mounts and place.exists():
                kept.append(str(place))
                places.append(str(place))
        if kept:
            lines.append(f"{key} = " + "\n    ".join(kept))
    return Configuration("\n".join(lines) + "\n", list(dict.fromkeys(places)))


def _place(value: str) -> Path | None:
    """The place on this host that a setting names, or None for an address elsewhere."""
    parts = urllib.parse.urlsplit(value)
    if parts.scheme == "file":
        return Path(urllib.request.url2pathname(parts.path))
    return None if parts.scheme else Path(os.path.expanduser(value)).absolute()  # noqa: PTH111 - Path fails for the home of nobody
