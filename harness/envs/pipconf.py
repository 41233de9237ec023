"""The user's pip configuration, told to uv, which reads neither pip's files nor its variables."""

import ast
import os
import shlex
import subprocess
import sys
from typing import NamedTuple


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
