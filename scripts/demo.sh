#!/bin/sh
# The main job in one screen: ingest the samples, search them three ways, look up a cell, ask.
set -e
cd "$(dirname "$0")/.."
index=${1:-demo-index}
PINCITE_INDEX=$index
export PINCITE_INDEX

run() {
    printf '\n\033[1m$ pincite'
    for word in "$@"; do
        case $word in *[!A-Za-z0-9._/-]*) printf ' "%s"' "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    printf '\033[0m\n'
    pincite "$@"
}

run ingest samples
run search "how close to a sink does a kitchen receptacle need RCD protection" -k 2
run search "error E-07" -k 1
run search "how do I escape when I am grabbed" -k 2
run show "210.8(D)" --document electrical-code-2024.md
run cell "Table 250.66" "95 mm²" "electrode copper"
run audit
run ask "Table 250.66 95 mm² electrode copper"
run ask "how far apart do two earth rods have to be"

cat <<END

Try next (first: . .venv/bin/activate; export PINCITE_INDEX=$index):
  pincite search "earth electrode resistance"        ask anything
  pincite diff electrical-code-2021.md electrical-code-2024.md
  pincite list electrical-code-2024.md               all places of a document
  pincite search "Grabbed" --json                    for programs
  pincite ask "Show me 240.33 of the 2024 edition"   an answer, or why there is none
  pincite ingest YOUR_FOLDER --index my-index        your own documents: PDF, Word, HTML, ...
  pincite serve                                      all of it in a browser: http://127.0.0.1:8321
END
