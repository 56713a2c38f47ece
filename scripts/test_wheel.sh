#!/bin/sh
# The fast tests against the built wheel: those of the source archive, whose src/ is taken away, in an
# environment that has the wheel itself and borrows everything else from the one given.
#     sh scripts/test_wheel.sh .venv/bin/python [tests, else all]
set -e
cd "$(dirname "$0")/.."
python=$(realpath -s "$1")
shift
out=$PWD/build/wheel-tests
rm -rf "$out"
"$python" -m scripts.release.build --out "$out/dist"
"$python" -m venv --without-pip "$out/venv"
"$python" -m pip --python "$out/venv/bin/python" install --quiet --no-deps "$out"/dist/*.whl
site=$("$out/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
# Only folders of packages: lines of .pth files in them, that of the editable install above all, do
# not count.
"$python" -c 'import sys; print(*(p for p in sys.path if p.endswith("-packages")), sep="\n")' \
    > "$site/borrowed.pth"
tar -xzf "$out"/dist/*.tar.gz -C "$out"
cd "$out"/pincite-*/
rm -r src
"$out/venv/bin/python" -c 'import pincite; print("testing", pincite.__file__)'
"$out/venv/bin/python" -m pytest -n auto --dist loadscope -m "not slow and not alone" "${@:-tests}"
