"""The folder that a worker imports from: harness.core and one adapter's package, and nothing else of the host.

It is named by the hash of its content, so a worker can never run stale code, and the hash stands in every result.
"""

import hashlib
import shutil
import tempfile
from pathlib import Path

from harness import paths
from harness.adapters import Adapter
from harness.errors import UserError

MAIN = "from harness.core.worker import main\n\nmain()\n"


def _files(adapter: Adapter) -> dict[str, Path]:
    """Staged path to source path, for every Python file."""
    files = {"harness/__init__.py": paths.PACKAGE / "__init__.py"}
    for root, parent in ((paths.PACKAGE / "core", paths.PACKAGE.parent), (adapter.folder / adapter.manifest.package, adapter.folder)):
        files.update((str(path.relative_to(parent)), path) for path in sorted(root.rglob("*.py")))
    return files


def stage(adapter: Adapter) -> tuple[Path, str]:
    """Return the staged folder and its hash, making it if it is not there."""
    contents = {name: path.read_bytes() for name, path in _files(adapter).items()}
    contents["__main__.py"] = MAIN.encode()
    digest = hashlib.sha256()
    for name, content in sorted(contents.items()):
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    target = paths.cache() / "staged" / f"{adapter.name}-{digest.hexdigest()[:16]}"
    if not target.is_dir():
        try:
            _write(contents, target)
        except OSError as error:
            raise UserError(f"{target.parent}: cannot be written: {error.strerror}. Set HARNESS_CACHE to a folder that can.")
    return target, digest.hexdigest()


def _write(contents: dict[str, bytes], target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(dir=target.parent))
    try:
        for name, content in contents.items():
            (partial / name).parent.mkdir(parents=True, exist_ok=True)
            (partial / name).write_bytes(content)
        for path in (partial, *partial.rglob("*")):  # a container's user may be another than this one
            path.chmod(0o755 if path.is_dir() else 0o644)
        partial.rename(target)
    except OSError:
        if not target.is_dir():  # else another process was first, and its copy is the same
            raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
