"""The page of a run in a real browser: nothing sticks out of a narrow window, and marks lie where their strips are.

A copy of the page measures itself with a script that it does not have otherwise, and writes what it found into its title.
"""

import json
import re
import shutil
import subprocess

import pytest
from helpers import Recorder

from harness.report import whole

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SCRIPT = """<script>
const outside = element => { const box = element.getBoundingClientRect(); return box.right > innerWidth + 1 || box.left < -1; };
for (const one of document.querySelectorAll('details')) one.open = true;
const marks = [...document.querySelectorAll('.strip i')];
const astray = marks.filter(mark => {
  const own = mark.getBoundingClientRect(), strip = mark.parentElement.getBoundingClientRect();
  return own.left < strip.left - 5 || own.right > strip.right + 5 || own.top < strip.top - 5 || own.bottom > strip.bottom + 5;
});
const seen = [...document.querySelectorAll('h1, h2, h3, p, dl, .strip, .scroll, details, .says')];
document.title = 'measured ' + JSON.stringify({
  width: innerWidth, spare: document.documentElement.clientWidth - document.documentElement.scrollWidth,
  marks: marks.length, astray: astray.length,
  outside: seen.filter(outside).map(element => element.textContent.trim().slice(0, 60)),
  thin: [...document.querySelectorAll('.strip')].filter(strip => strip.getBoundingClientRect().width < 100).length,
  background: getComputedStyle(document.body).backgroundColor,
}) + ' end';
</script>"""


@pytest.fixture
def browser():
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("tests/browser: no Chromium on this host")
    return found


@pytest.fixture
def page():
    """Six columns of long names, three frameworks, a fault and a note."""
    recorder = Recorder(adapters=["alpha", "beta", "gamma"])
    for model in ("alexnet", "vgg19", "resnet50", "mobilenet", "gnmt-small", "resnet101"):
        for adapter, factor in (("alpha", 1.0), ("beta", 0.5)):
            recorder.measured(recorder.plan(adapter, model=model), [factor * (0.5 + 0.01 * (n % 5)) for n in range(12)])
        recorder.ended(recorder.plan("gamma", model=model), "crashed", "a long reason with/a/path/that/cannot/be/broken/" * 5)
    return whole.as_page(recorder.load())


@pytest.mark.parametrize("width", [500, 1400])
def test_nothing_sticks_out(browser, page, tmp_path, width):
    file = tmp_path / "page.html"
    file.write_text(re.sub("<meta http-equiv[^>]*>", "", page).replace("</body>", SCRIPT + "</body>"), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}", f"--window-size={width},900"]
    done = subprocess.run([browser, *options, "--dump-dom", file.as_uri()], capture_output=True, text=True, timeout=120)
    title = re.search("<title>measured (.*?) end</title>", done.stdout, re.DOTALL)
    assert title, done.stderr
    found = json.loads(title[1])
    assert found["width"] == width and found["spare"] >= 0, found
    assert found["marks"] == 6 * (3 + 2 * 12) and not found["astray"] and not found["outside"] and not found["thin"], found
