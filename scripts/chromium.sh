#!/bin/sh
# The browser that tests of the page use: nothing to do where there is one; installed by apt where
# that is allowed. Without it these tests are skipped and say so.
if command -v chromium >/dev/null || command -v chromium-browser >/dev/null; then
    exit 0
fi
if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    apt-get install -y -q --no-install-recommends chromium && exit 0
fi
echo "no Chromium: the tests of the page are skipped (apt-get install chromium)" >&2
