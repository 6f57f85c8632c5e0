#!/usr/bin/env bash
# Fetch MathJax again. Usage: book/_vendor/mathjax/refresh.sh [version]   (needs npm)
set -euo pipefail
cd "$(dirname "$0")"
version=${1:-3.2.2}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
archive=$scratch/$(cd "$scratch" && npm pack --silent "mathjax@$version")
sha256sum "$archive"   # compare with README.md
tar -xzf "$archive" -C "$scratch"
rm -rf tex-chtml.js input output LICENSE
cp "$scratch/package/LICENSE" "$scratch/package/es5/tex-chtml.js" .
mkdir -p input/tex output/chtml/fonts
cp -r "$scratch/package/es5/input/tex/extensions" input/tex/
cp -r "$scratch/package/es5/output/chtml/fonts/woff-v2" output/chtml/fonts/
