"""The command line. Only this file prints and exits; heavy imports wait until a command needs them."""

import contextlib
import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness import __version__
from harness.errors import UserError

if TYPE_CHECKING:
    from harness.adapters import Adapter
    from harness.config import Places, Source, Suite
    from harness.envs.engine import Engine
    from harness.matrix import Planned

EPILOG = "Exit codes: 0 every cell ok, unstable or N/A; 1 some cells failed; 2 wrong usage or configuration; 130 interrupted."


class Edge(click.Group):
    """Turns the errors that need no trace into one sentence and exit code 2, in one place."""

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except UserError as error:
            click.echo(f"Error: {error}", err=True)
            context.exit(2)
        except OSError as error:  # a disk that is full, a folder that went away
            if error.errno == errno.EPIPE:  # nobody reads on, which is no error
                raise
            with contextlib.suppress(OSError):
                click.echo(f"Error: {error.filename or 'what is printed'}: {error.strerror}.", err=True)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # or Python would fail again when it empties its buffers
            context.exit(2)
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            context.exit(130)

    def resolve_command(self, context: click.Context, args: list[str]) -> Any:
        if args and self.get_command(context, args[0]) is None:
            from harness.suggest import unknown

            raise UserError(unknown("command", args[0], self.list_commands(context)))
        return super().resolve_command(context, args)


@click.group(cls=Edge, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="harness")
def main() -> None:
    """Compare deep-learning frameworks: which is faster, on which model, on which device."""


def _config_option(command: Callable[..., Any]) -> Callable[..., Any]:
    kind = click.Path(dir_okay=False, path_type=Path)
    return click.option("--config", type=kind, help="A benchmarks.toml. [default: the one here, else the one that ships]")(command)


def _wait_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--wait", is_flag=True, help="If another run uses the device, wait for its end.")(command)


def _choice_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that narrow or replace what a suite lists. Each may be given several times."""
    options = (
        ("adapter", "Measure this framework."),
        ("model", "Measure this model."),
        ("mode", "train or infer."),
        ("device", "cpu, cuda, cuda:N or a GPU's UUID."),
        ("precision", "For example fp32."),
        ("track", "as-shipped, or matched: no folding, no fusing, alike for all."),
        ("variant", "ADAPTER=VARIANT, for example pytorch=compile."),
    )
    command = click.option("--baseline", metavar="ADAPTER", help="Take ratios to this framework.")(command)
    command = click.option("--images", type=click.Path(resolve_path=True), help="Folder with content.* and style.* to generate from.")(
        command
    )
    for name, text in reversed(options):
        command = click.option(f"--{name}", f"{name}s", multiple=True, help=text)(command)
    return _run_options(command)


def _run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of everything that is planned."""
    command = click.option("--aa", is_flag=True, help="Measure the baseline twice: what differs from itself shows the noise.")(command)
    command = click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Anything of a suite, such as measure.sweeps=2.")(
        command
    )
    for name, field, text in (
        ("threads", "threads", "CPU threads granted."),
        ("size", "sizes", "Pixels of an image's side, or tokens of the longest sentence."),
        ("batch", "batches", "Samples a step, for every model."),
    ):
        command = click.option(f"--{name}", field, multiple=True, type=click.IntRange(min=1), help=text)(command)
    command = click.option("--python", "pythons", multiple=True, metavar="ADAPTER=PATH", help="Use this interpreter, install nothing.")(
        command
    )
    return _config_option(command)


def _dry_run_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--dry-run", is_flag=True, help="Print the plan and stop.")(command)


def _part_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that choose cells of a run. Each may be given several times."""
    command = click.option("--batch", multiple=True, type=int, help="Show cells of this one alone.")(command)
    for field in ("precision", "device", "mode", "model", "variant", "adapter"):
        command = click.option(f"--{field}", multiple=True, help="Show cells of this one alone.")(command)
    return command


def _suite(source: "Source", name: str | None) -> tuple[str, "Suite"]:
    from harness.suggest import unknown

    suites, chosen = source.config.suites, name or source.config.default_suite
    if chosen not in suites:
        raise UserError(unknown("suite", chosen, suites))
    return chosen, suites[chosen]


class Plan:
    """What a command line asks for: a suite narrowed, its adapters and environments, its cells."""

    def __init__(
        self,
        suite: str | None,
        config: Path | None,
        pythons: tuple[str, ...],
        everything: bool = False,
        try_gaps: bool = False,
        title: str | None = None,
        **filters: Any,
    ) -> None:
        import pydantic

        from harness import config as configuration
        from harness import hostinfo, matrix, pictures, toml
        from harness.adapters import discover
        from harness.suggest import unknown

        source = configuration.load(config)
        self.adapters: dict[str, Adapter] = discover(source.adapter_folders())
        own = dict(source.config.environments)
        for text in pythons:
            adapter, _, path = text.partition("=")
            if not path:
                raise UserError(f"--python '{text}': write ADAPTER=PATH, for example pytorch=/usr/bin/python3.")
            own[adapter] = configuration.EnvironmentSpec(kind="interpreter", python=path)
        for name in own:  # the user's own file may name adapters of another project
            if name not in self.adapters:
                raise UserError(f"{source.path}: environments: {unknown('adapter', name, self.adapters)}")
        self.places = configuration.Places(environments=own).over(source.places)
        self.name, listed = _suite(source, suite)
        if everything:
            listed = matrix.everything(listed, self.adapters)
        try:
            self.suite = matrix.narrow(listed, matrix.Filters(**filters), self.adapters)
            if self.suite != listed:  # whose title says what is no longer so
                self.suite = self.suite.model_copy(update={"title": title or f"Suite {self.name}, changed on the command line"})
        except pydantic.ValidationError as error:
            raise UserError(toml.explain("command line", configuration.Suite, error))
        if self.suite.images is not None:
            folder = source.path.resolve().parent / self.suite.images
            pictures.check(folder)
            self.suite = self.suite.model_copy(update={"images": str(folder)})
        environments = {name: spec.model_dump(mode="json") for name, spec in own.items()}
        matrix.check_threads(self.suite, len(hostinfo.granted_cpus()))
        self.origin = {"config": str(source.path.resolve()), "environments": environments, "try_gaps": try_gaps}
        self.cells = _cells(self.suite, self.adapters, self.places, try_gaps)


def _cells(suite: "Suite", adapters: "dict[str, Adapter]", places: "Places", try_gaps: bool) -> "list[Planned]":
    from harness import hostinfo, matrix
    from harness.envs import engine

    no_engine = matrix.engine_missing(places.environments, engine.missing(places.containers))
    no_device = matrix.device_missing(hostinfo.gpus())
    return matrix.plan(suite, adapters, no_device, no_engine, try_gaps, len(hostinfo.granted_cpus()))


@main.command(epilog=EPILOG)
@click.argument("suite", required=False)
@_choice_options
@_dry_run_option
@_wait_option
@click.option("--try-gaps", is_flag=True, help="Measure known gaps too, and report those that have healed.")
@click.pass_context
def run(context: click.Context, /, dry_run: bool, wait: bool, **choices: Any) -> None:
    """Measure SUITE, or the default suite."""
    _measure(context, Plan(**choices), dry_run, wait)


def _measure(context: click.Context, plan: Plan, dry_run: bool, wait: bool) -> None:
    if dry_run:
        _print_plan(plan)
        return
    from harness.execute import execute

    context.exit(execute(plan.name, plan.suite, plan.adapters, plan.places, plan.cells, ["harness", *sys.argv[1:]], plan.origin, wait))


@main.command(epilog=EPILOG)
@click.argument("rivals", nargs=-1, required=True, metavar="ADAPTER[=VARIANT]...")
@click.option("--model", "models", multiple=True, required=True, help="Compare on this model. May be given several times.")
@click.option("--mode", "modes", multiple=True, help="train or infer. [default: both]")
@click.option("--device", "devices", multiple=True, help="cpu, cuda, cuda:N or a GPU's UUID. [default: cpu]")
@click.option("--precision", "precisions", multiple=True, help="For example bf16. [default: fp32]")
@click.option("--track", "tracks", multiple=True, help="as-shipped or matched. [default: as-shipped]")
@_run_options
@_dry_run_option
@_wait_option
@click.pass_context
def compare(context: click.Context, /, rivals: tuple[str, ...], dry_run: bool, wait: bool, **choices: Any) -> None:
    """Measure two or more frameworks, or variants of one, head to head: ratios with intervals and verdicts.

    The default suite says how long. The first one named is the baseline; name one alone, and it is compared with itself.
    """
    named = [text.partition("=")[::2] for text in rivals]
    adapters = tuple(dict.fromkeys(name for name, _ in named))
    choices["aa"] = choices["aa"] or len(set(named)) == 1
    variants = tuple(f"{name}={variant}" for name, variant in dict.fromkeys(named) if variant)
    title = f"Head to head: {', '.join(dict.fromkeys(rivals))}"
    _measure(context, Plan(None, adapters=adapters, variants=variants, baseline=adapters[0], title=title, **choices), dry_run, wait)


RETRIED = ("unstable", "env-failed", "parity-failed", "sync-failed", "oom", "timeout", "crashed", "unsupported")


@main.command(epilog=EPILOG)
@click.argument("run", default="last")
@click.option("--retry", "statuses", multiple=True, type=click.Choice(RETRIED), help="Measure cells of this status again as well.")
@click.option("--retry-failed", is_flag=True, help="Measure all cells again that failed.")
@_wait_option
@click.pass_context
def resume(context: click.Context, /, run: str, statuses: tuple[str, ...], retry_failed: bool, wait: bool) -> None:
    """Go on with RUN after whatever ended it: measure what it lacks, with the suite and the environments that it was begun with."""
    from harness import config as configuration
    from harness import execute, matrix, results
    from harness.adapters import discover
    from harness.statuses import Status

    loaded = results.load(results.find(run))
    if loaded.origin is None:
        raise UserError(f"{loaded.folder}: was made by a harness that kept too little to go on. Begin a run of its own.")
    source = configuration.load(loaded.origin.config)
    adapters = discover(source.adapter_folders())
    matrix.check_names(loaded.suite, adapters)
    places = configuration.Places(environments=loaded.origin.environments).over(source.places)
    cells = _cells(loaded.suite, adapters, places, loaded.origin.try_gaps)
    again = {Status.INTERRUPTED, *map(Status, statuses), *(status for status in Status if retry_failed and status.is_failure)}
    context.exit(execute.resume(loaded, adapters, places, cells, again, wait))


def _print_plan(plan: Plan) -> None:
    for item in plan.cells:
        click.echo(item.cell.key + (f"  N/A: {item.reason}" if item.reason else ""))
    able = sum(item.reason is None for item in plan.cells)
    click.echo(f"{len(plan.cells)} cells of suite '{plan.name}', {able} to measure, {len(plan.cells) - able} N/A. Nothing was run.")


@main.command("matrix")
@click.argument("suite", required=False)
@_choice_options
def show_matrix(**choices: Any) -> None:
    """Show which cells of SUITE are supported on this host, and why the others are not. Without SUITE: of every model and adapter."""
    from harness.report import sheets, terminal
    from harness.report.support import support

    console = terminal.console()
    console.print(sheets.render([support(Plan(everything=choices["suite"] is None, **choices).cells)], console.width))


@main.command("list")
@_config_option
def show_list(config: Path | None) -> None:
    """List adapters, models and suites."""
    from harness import config as configuration
    from harness.adapters import discover, pinned_version
    from harness.core.models import MODELS

    source = configuration.load(config)
    click.echo("Adapters")
    for adapter in discover(source.adapter_folders()).values():
        manifest = adapter.manifest
        devices = ", ".join(f"{kind} ({pinned_version(adapter, kind)})" for kind in manifest.devices)
        abilities = f"variants {', '.join(manifest.variants)}; {', '.join(manifest.precisions)}; Python {manifest.python}"
        click.echo(f"  {adapter.name:12} {devices}; {abilities}")
    click.echo("Models")
    for model in MODELS.values():
        graph = model.build(model.size)
        at = f" at {model.size} {model.size_unit}" if model.size_unit else ""
        counts = f"{graph.parameter_count():,} parameters, {graph.macs():,} MACs a sample{at}"
        click.echo(f"  {model.name:12} {model.title}: {counts}")
    click.echo(f"Suites of {source.path}")
    for name, suite in source.config.suites.items():
        mark = " (default)" if name == source.config.default_suite else ""
        click.echo(f"  {name:12} {suite.title}{mark}")


@main.command()
@click.argument("run", default="last")
@click.option("--markdown", "form", flag_value="markdown", help="Print Markdown.")
@click.option("--html", "form", flag_value="html", help="Print a page for a browser: tables, charts, and what each number rests on.")
@click.option("--csv", "form", flag_value="csv", help="Print a line per cell for a spreadsheet, with full digits.")
@click.option("--details", is_flag=True, help="Print a line per cell as well: what its number rests on.")
@_part_options
def show(run: str, form: str | None, details: bool, **wanted: tuple[str, ...]) -> None:
    """Print the tables of RUN again, from its files: a folder, a run's name, or "last"."""
    from harness import results
    from harness.report import overview, terminal, whole

    loaded = overview.part(results.load(results.find(run)), wanted)
    if loaded.torn:
        click.echo("The last event was cut off and is left out.", err=True)
    console = terminal.console()
    if form is not None:
        click.echo(whole.FORMS[form](loaded), nl=form != "csv")
    else:
        for table in whole.rendered(loaded, console.width):
            console.print(table)
    if details:
        console.print(terminal.details(loaded))
    if unfinished := overview.unfinished(loaded):
        click.echo(unfinished, err=True)


@main.command()
@click.argument("run", default="last")
def export(run: str) -> None:
    """Print the latencies of RUN as CSV in the 29 columns of DEEP-GAP's own code: a row for every repeat."""
    from harness import results
    from harness.report.columns29 import exported

    click.echo(exported(results.load(results.find(run))), nl=False)


def _print(shown: Any) -> None:
    """Print text as it is, and what rich draws on a terminal."""
    from harness.report import terminal

    if isinstance(shown, str):
        click.echo(shown)
    else:
        terminal.console().print(shown)


@main.command()
@click.argument("predictions")
@click.option(
    "--gold", default="pytorch-paper", show_default=True, metavar="NAME|FILE", help="A name of `harness gold list`, or a .toml file."
)
@click.option("--baseline", metavar="FRAMEWORK", help="Score multiples of this framework's throughputs as well.")
@click.option("--claim", "claims", multiple=True, metavar="TEXT", help='For example "PyTorch within 17% of fastest". May be repeated.')
@click.option("--mode", type=click.Choice(["train", "infer"]), help="Score this mode. [default: gold's]")
@click.option("--precision", metavar="NAME", help="Score this precision. [default: gold's]")
@click.option("--device", metavar="NAME", help="Score this device's cells.")
@click.option("--batch", type=click.IntRange(min=1), help="Score this batch.")
@click.option("--variant", "variants", multiple=True, metavar="FRAMEWORK=VARIANT", help="Score this variant. May be repeated.")
@click.option("--format", "form", type=click.Choice(["terminal", "markdown", "csv", "json"]), default="terminal", show_default=True)
def score(**asked: Any) -> None:
    """Hold PREDICTIONS against a gold table: a run (folder, name, "last") or a table (.csv, .json, .md).

    The exit code is 0 whatever the score is.
    """
    from harness.score_command import score_text

    _print(score_text(**asked))


@main.group(cls=Edge)
def gold() -> None:
    """List and show the gold tables: published throughputs with their conditions."""


@gold.command("list")
def gold_list() -> None:
    """List the gold tables that ship."""
    from harness import score_command

    _print(score_command.gold_list())


@gold.command("show")
@click.argument("name", metavar="NAME|FILE")
@click.option("--format", "form", type=click.Choice(["terminal", "markdown", "csv"]), default="terminal", show_default=True)
def gold_show(name: str, form: str) -> None:
    """Show a gold table in throughputs, with source, hardware and conditions."""
    from harness import score_command

    _print(score_command.gold_show(name, form))


@main.group(cls=Edge)
def env() -> None:
    """Install, list and remove the frameworks' environments."""


@env.command("install")
@click.argument("adapters", nargs=-1)
@click.option("--device", default="cpu", type=click.Choice(["cpu", "cuda"]), show_default=True)
@_config_option
@click.pass_context
def env_install(context: click.Context, adapters: tuple[str, ...], device: str, config: Path | None) -> None:
    """Make the environments of ADAPTERS, or of all that this host can have."""
    from harness import config as configuration
    from harness import matrix
    from harness.adapters import discover
    from harness.envs import engine
    from harness.envs.base import EnvFailed
    from harness.execute import provide
    from harness.suggest import unknown

    source = configuration.load(config)
    known = discover(source.adapter_folders())
    for name in adapters:
        if name not in known:
            raise UserError(unknown("adapter", name, known))
        if device not in known[name].manifest.devices:
            raise UserError(f"adapter '{name}' has no environment for {device}, only for {', '.join(known[name].manifest.devices)}.")
    needs = [(name, device) for name in adapters or known if device in known[name].manifest.devices]
    if not adapters:
        no_engine = matrix.engine_missing(source.places.environments, engine.missing(source.places.containers))
        reasons = {name: reason for name, kind in needs if (reason := no_engine(known[name], kind))}
        for name, reason in reasons.items():
            click.echo(f"{name}: left out: {reason}", err=True)
        needs = [(name, kind) for name, kind in needs if name not in reasons]
    outcomes = provide(needs, known, source.places)
    for (name, kind), outcome in outcomes.items():
        if not isinstance(outcome, EnvFailed):
            click.echo(f"{name} on {kind}: {outcome.python}" + (" of an image" if outcome.kind == "container" else ""))
    context.exit(1 if any(isinstance(outcome, EnvFailed) for outcome in outcomes.values()) else 0)


@env.command("list")
@_config_option
def env_list(config: Path | None) -> None:
    """List the environments in the cache, and the images of the container engine."""
    from harness.envs import venv

    found = venv.installed()
    for home, fingerprint in found:
        click.echo(f"{home.name}  Python {fingerprint['python']}, {len(fingerprint['packages'])} packages, {home}")
    _, images = _images(config)
    for name, size in images.items():
        click.echo(f"{name}  container image, {size}")
    if not found and not images:
        click.echo("There are no environments yet. Make them: harness env install")


@env.command("remove")
@click.argument("names", nargs=-1, required=True)
@_config_option
def env_remove(names: tuple[str, ...], config: Path | None) -> None:
    """Delete environments by their name in `harness env list`."""
    from harness.envs import image, venv
    from harness.envs.base import EnvFailed
    from harness.suggest import unknown

    homes = {home.name: home for home, _ in venv.installed()}
    engine, images = _images(config)
    for name in names:
        if name in homes:
            venv.remove(homes[name])
            click.echo(f"removed {homes[name]}")
        elif engine is not None and name in images:
            try:
                image.remove(engine, name)
            except EnvFailed as failure:
                raise UserError(f"{name}: {failure.reason}.")
            click.echo(f"removed image {name}")
        else:
            raise UserError(unknown("environment", name, [*homes, *images]))


def _images(config: Path | None) -> tuple["Engine | None", dict[str, str]]:
    """The container engine, and the size of each of the harness's own images by its name."""
    from harness import config as configuration
    from harness.envs import engine, image
    from harness.envs.base import EnvFailed

    found = engine.find(configuration.load(config).places.containers)
    try:
        return found, dict(image.built(found)) if found else {}
    except EnvFailed as failure:  # the environments of the cache can be listed all the same
        click.echo(failure.reason, err=True)
        return None, {}


@main.command()
@_config_option
@click.pass_context
def doctor(context: click.Context, config: Path | None) -> None:
    """Look at this host: devices, engines, disk, and what would make numbers noisy."""
    from harness import config as configuration
    from harness.doctor import examine

    findings = list(examine(configuration.load(config).places.containers))
    for finding in findings:
        click.echo(f"{'ok  ' if finding.good else 'look'}  {finding.text}")
    context.exit(0)
