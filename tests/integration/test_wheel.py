"""What a user without a checkout gets: the wheel has the project of the demonstration."""

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_demonstration_finds_its_project_in_an_installed_wheel(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    [wheel] = tmp_path.glob("*.whl")
    installed = tmp_path / "site-packages"
    zipfile.ZipFile(wheel).extractall(installed)

    program = "from penstock.demo import project_folder; print(project_folder())"
    found = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(installed)},
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()

    assert Path(found) == installed / "penstock" / "demo" / "fraud"
    files = {path.name for path in Path(found).iterdir()}
    assert files >= {"flows.py", "penstock.toml", "blocked_octets.csv"}
