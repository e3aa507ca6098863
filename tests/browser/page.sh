#!/usr/bin/env bash
# A page in a real browser: nothing is asked of the network, nothing complained about, every picture has its size and its
# text within it, and something can be seen, in light, in dark, and 400 px wide.
# Usage: page.sh BIN_DIR SOURCE_DIR. Exit 77 = no browser.
set -euo pipefail
bin=$(cd "$1" && pwd)
export AFORE_SOURCE_DIR=$2 PATH=$bin:$PATH LC_ALL=C
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
  { echo 'no chromium'; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

STEPS=4 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
source "$AFORE_SOURCE_DIR/tests/data/tiny_requests.sh"
cluster='--workers 4 --attention-workers 2 --tile-tokens 16'
# shellcheck disable=SC2086
{
  afore-serve replay --policy afore $cluster --report run.html requests > /dev/null
  afore-serve compare --policies static,eplb,afore $cluster --report compare.html stream > /dev/null 2>&1
}
afore-trace synth --model deepseek-v3 --steps 2 --microbatches 3 --tokens 512 --seed 1 |
  afore-serve replay --policy afore --workers 32 --attention-workers 8 --cost h100 --report large.html > /dev/null
source "$AFORE_SOURCE_DIR/tests/data/small_pictures.sh"
afore-trace plot gantt small -o small.svg

chrome() {  # chrome LIGHT_OR_DARK WIDTH FLAG...
  local scheme=1 width=$2
  [[ $1 == light ]] || scheme=0
  shift 2
  timeout 120 "$browser" --headless=new --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$scratch/profile" \
    --blink-settings=preferredColorScheme=$scheme --window-size="$width",900 --enable-logging=stderr --v=0 "$@"
}
wrong=0
complain() { echo "$*"; wrong=1; }

# What the page itself cannot do, as it runs nothing: a copy of it measures its pictures.
cat > measure.js << 'END'
const out = [];
for (const svg of document.querySelectorAll('svg')) {
  const box = svg.getBoundingClientRect();
  if (!(box.width > 0 && box.height > 0)) out.push('a picture without a size');
  const texts = [...svg.querySelectorAll('text')].map(t => [t, t.getBoundingClientRect()]);
  for (const [t, b] of texts)
    if (b.left < box.left - 1 || b.right > box.right + 1 || b.top < box.top - 1 || b.bottom > box.bottom + 1)
      out.push('cut off: ' + t.textContent);
  for (let i = 0; i < texts.length; ++i)
    for (let k = i + 1; k < texts.length; ++k) {
      const a = texts[i][1], b = texts[k][1];
      const x = Math.min(a.right, b.right) - Math.max(a.left, b.left), y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (x > 1 && y > Math.min(a.height, b.height) / 2) out.push('overlap: ' + texts[i][0].textContent + ' | ' + texts[k][0].textContent);
    }
}
if (document.documentElement.scrollWidth > innerWidth) out.push('the page is wider than the window');
const loaded = performance.getEntriesByType('resource').length;
if (loaded) out.push(loaded + ' things loaded');
const p = document.createElement('pre');
p.id = 'measured';
p.textContent = document.querySelectorAll('svg').length + ' pictures' + out.map(line => '\n' + line).join('');
document.body.append(p);
END

# A picture of one colour compresses to next to nothing; so the colours are counted.
colors() {
  python3 - "$1" << 'END'
import struct, sys, zlib
data = open(sys.argv[1], 'rb').read()
at, packed = 8, b''
while at < len(data):
    size, kind = struct.unpack('>I4s', data[at:at + 8])
    if kind == b'IHDR':
        width, height, depth, color = struct.unpack('>IIBB', data[at + 8:at + 18])
    if kind == b'IDAT':
        packed += data[at + 8:at + 8 + size]
    at += 12 + size
raw, n = zlib.decompress(packed), {2: 3, 6: 4}[color]
line, before, seen = width * n, bytearray(width * n), set()
for y in range(height):
    kind, row = raw[y * (line + 1)], bytearray(raw[y * (line + 1) + 1:(y + 1) * (line + 1)])
    for i in range(line):
        a, b, c = row[i - n] if i >= n else 0, before[i], before[i - n] if i >= n else 0
        if kind == 1: row[i] = (row[i] + a) & 255
        elif kind == 2: row[i] = (row[i] + b) & 255
        elif kind == 3: row[i] = (row[i] + (a + b) // 2) & 255
        elif kind == 4:
            p, q, r = abs(b - c), abs(a - c), abs(a + b - 2 * c)
            row[i] = (row[i] + (a if p <= q and p <= r else b if q <= r else c)) & 255
    seen.update(bytes(row[i:i + 3]) for i in range(0, line, 7 * n))
    before = row
    if y == 2: corner = sum(row[:3]) // 3
print(len(seen), corner)
END
}

for page in run compare large; do
  sed '/Content-Security-Policy/d' $page.html > with_script.html
  { echo '<script>'; cat measure.js; echo '</script>'; } >> with_script.html
  for scheme in light dark; do
    for width in 1040 400; do
      # The page as it is: what the console says of it.
      if [[ $page == run || $scheme == light && $width == 400 ]]; then
        chrome $scheme $width --screenshot=shot.png "file://$PWD/$page.html" > log 2>&1 || complain "$page: no screenshot"
        grep -E 'CONSOLE|Refused|net::ERR' log && complain "$page, $scheme, $width: the console says something"
      fi
      if [[ $page == run ]]; then
        read -r seen corner < <(colors shot.png)
        ((seen > 20)) || complain "$page, $scheme, $width: $seen colours"
        if [[ $scheme == dark ]]; then ((corner < 80)); else ((corner > 200)); fi || complain "$scheme: ground is $corner"
      fi
      chrome $scheme $width --virtual-time-budget=2000 --dump-dom "file://$PWD/with_script.html" 2> log |
        sed -n '/<pre id="measured">/,/<\/pre>/p' | sed 's/<[^>]*>//g; /^$/d' > measured
      echo "$page $scheme $width: $(head -n 1 measured)"
      [[ $(wc -l < measured) == 1 ]] || { sed 1d measured | head -n 10; wrong=1; }
      [[ $(head -n 1 measured) =~ ^[3-9]\ pictures ]] || complain "$page: pictures are missing"
    done
  done
done
chrome dark 1000 --screenshot=shot.png "file://$PWD/small.svg" > log 2>&1
read -r seen corner < <(colors shot.png)
((seen > 5 && corner < 80)) || complain "a picture by itself, dark: $seen colours on $corner"
exit $wrong
