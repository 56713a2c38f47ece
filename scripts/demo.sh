#!/bin/sh
# The main job in one screen: ingest the samples, search them three ways, show one place.
set -e
cd "$(dirname "$0")/.."
index=${1:-demo-index}

say() { printf '\n\033[1m$ %s\033[0m\n' "$*"; }

say pincite ingest samples --index "$index"
pincite ingest samples --index "$index"

say pincite search '"how often must ground-fault devices be tested"'
pincite search "how often must ground-fault devices be tested" -k 2 --index "$index"

say pincite search '"Table 250.66"'
pincite search "Table 250.66" -k 1 --index "$index"

say pincite search '"what does it cost to stand up while grabbed"'
pincite search "what does it cost to stand up while grabbed" -k 2 --index "$index"

say pincite show '"210.8(D)"' --document electrical-code-2024.md
pincite show "210.8(D)" --document electrical-code-2024.md --index "$index"

cat <<END

Try next (first: . .venv/bin/activate; export PINCITE_INDEX=$index):
  pincite search "minimum bend radius"           ask anything
  pincite show "Table 310.16" -d electrical-code-2024.md
  pincite list electrical-code-2024.md           all places of a document
  pincite search "error E-07" --json             for programs
  pincite ingest YOUR_FOLDER --index my-index    your own documents
END
