#!/usr/bin/env bash
# The page of `refrain plan --html` in a real browser, headless.
#
#   plan_page_test.sh BIN_DIR
#
# A page is tried by copying it with a probe at its end: probe.js checks what the browser made of it
# and writes its outcome into the document, which Chromium then dumps. All pages are loaded first,
# several at a time; then each case looks at what was dumped. For every kind of check there is a page
# that was broken on purpose, which must not pass.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
source "$here/../front_door/check.sh"
readonly kRefrain=$1/refrain
readonly kMostBytes=1000000  # of the page of an 80-layer model

for browser in chromium chromium-browser google-chrome none; do
  if command -v "$browser" >/dev/null; then break; fi
done
if [ "$browser" = none ]; then
  echo "FAILED: there is no Chromium to show pages with; install it: tools/setup.sh web"
  exit 1
fi

# browse FILE [FLAG...]: loads a page of $work; leaves NAME.dom, NAME.log and NAME.net.
browse() {
  local name=${1%.*} file=$1
  shift
  "$browser" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
    --hide-scrollbars --user-data-dir="$work/$name.profile" --window-size=1280,900 \
    --host-resolver-rules='MAP * ~NOTFOUND' --enable-logging=stderr --log-net-log="$work/$name.net" \
    --dump-dom "$@" "file://$work/$file" >"$work/$name.dom" 2>"$work/$name.log" || true
}

# probed PAGE JSON SETTINGS: PAGE with the probe at its end. JSON is what the page is about.
probed() {
  local page
  page=$(<"$work/$1.html")
  printf '%s<script>const kPlan = %s;\nconst kMode = %s;\n%s</script></body></html>\n' \
    "${page%</body>*}" "$(sed 's/</\\u003c/g' "$work/$2.json")" "$3" "$(<"$here/probe.js")"
}

# plan NAME ARGUMENT...: NAME.html and NAME.json of one plan.
plan() {
  local name=$1
  shift
  "$kRefrain" plan "$@" --html "$work/$name.html" --json >"$work/$name.json"
}

tiny_config() {
  cat <<'JSON'
{"model_type": "llama", "num_hidden_layers": 3, "hidden_size": 64, "num_attention_heads": 4,
 "num_key_value_heads": 2, "intermediate_size": 176, "vocab_size": 256, "rms_norm_eps": 1e-5,
 "max_position_embeddings": 512, "rope_theta": 10000.0, "hidden_act": "silu"}
JSON
}

make_pages() {
  local odd
  plan small --model llama-15m --memory-budget 250MiB
  plan large --model llama3-70b --dtype bf16 --seq 4096 --micro-batch 1 --memory-budget 950GiB
  odd="$work/odd & \"q\" 's' <"
  mkdir -p "$odd/script><img src=x onerror=alert(1)>"
  odd+=$'/script><img src=x onerror=alert(1)>/c\xff\x01.json'
  tiny_config >"$odd"
  plan odd --model "$odd" --micro-batch 2 --clip-grad 1

  probed small small '{}' >"$work/light.html"
  probed small small '{dark: true}' >"$work/dark.html"
  probed small small '{framed: true}' >"$work/framed.html"
  echo '<!DOCTYPE html><html lang="en"><title>phone</title><body><pre id="outcome"></pre>
    <iframe src="framed.html" style="width:360px;height:800px"></iframe><script>
    addEventListener("message", (e) => { document.getElementById("outcome").textContent = e.data; });
    </script></body></html>' >"$work/phone.html"
  probed large large '{}' >"$work/layers80.html"
  probed odd odd '{}' >"$work/strange.html"
  sed '/^"use strict";$/,/^<\/script>$/d; s/^<script>$//' "$work/small.html" >"$work/unscripted.html"
  probed unscripted small '{scripted: false}' >"$work/noscript.html"
  as_xml small >"$work/xml.xhtml"
}

# What HTML reads as HTML and XML as XML: all but what stands inside style and script.
as_xml() { sed '/^<style>$/,/^<\/style>$/d; /^<script/,/^<\/script>$/d; s/<style>$//; s/<script[^>]*>$//' "$work/$1.html"; }

# Each breaks what the checks are there for.
break_pages() {
  sed "s/<data value=\"$(field small peak_bytes)\">[^<]*</<data value=\"1\">1 B</
       s/--quiet: #56606b/--quiet: #b6c0cb/; s/font-size: 0.8125rem/font-size: 0.5rem/
       s/ArrowRight: by(1)/ArrowRight: by(0)/" "$work/light.html" >"$work/broken.html"
  sed '0,/^"use strict";$/s//&\nundefined_on_purpose();/; s/<meta http-equiv[^>]*>//
       s|<main>|&<img alt="" src="http://refrain.invalid/x.png" />|' "$work/light.html" >"$work/rogue.html"
  sed 's/<main>/&<p>/' "$work/xml.xhtml" >"$work/broken_xml.xhtml"
}

# field NAME MEMBER: a number of NAME.json.
field() { grep -o "\"$2\":[0-9]*" "$work/$1.json" | sed -n "1s/.*://p"; }

load_pages() {
  export -f browse
  export work browser
  xargs -P 3 -L 1 bash -c 'browse "$@"' browse <<LIST
layers80.html
light.html --print-to-pdf=$work/light.pdf
dark.html --blink-settings=preferredColorScheme=0
phone.html --virtual-time-budget=1000
strange.html
noscript.html
broken.html
rogue.html
xml.xhtml
broken_xml.xhtml
LIST
}

# outcome NAME: what the probe of a page wrote.
outcome() { sed -n '/<pre id="outcome">/,/<\/pre>/p' "$work/$1.dom"; }

console() { grep -F ':CONSOLE' "$work/$1.log" || true; }

requests() { grep -oE '"initiator":"null"|"url":"https?://refrain[^"]*' "$work/$1.net" || true; }

passes() {
  local said
  said=$(outcome "$1")
  grep FAILED <<<"$said" && return 1
  console "$1" | grep . && return 1
  requests "$1" | grep . && return 1
  contains "$said" "all checks done"
}

# is_caught NAME WORD...: the probe fails, and says so of these checks.
is_caught() {
  local name=$1 said word
  shift
  said=$(outcome "$name")
  for word; do contains "$(grep FAILED <<<"$said" || true)" "$word"; done
}

script_error_is_caught() { console rogue | grep -q undefined_on_purpose; }
request_is_caught() { requests rogue | grep -q refrain.invalid && is_caught rogue "asks for nothing"; }

is_well_formed() { grep -q '</main>' "$work/$1.dom" && ! grep -q parsererror "$work/$1.dom"; }
broken_markup_is_caught() { ! is_well_formed broken_xml; }

is_small() {
  local size
  size=$(stat -c %s "$work/large.html")
  echo "$size bytes"
  [ "$size" -lt $kMostBytes ]
}

prints_on_few_pages() {
  local pages
  pages=$(grep -a -c '/Type /Page$' "$work/light.pdf" || true)
  echo "$pages pages"
  [ "$pages" -ge 2 ] && [ "$pages" -le 7 ]
}

make_pages
break_pages
load_pages
check "in light, every check of the probe holds" passes light
check "in dark as well" passes dark
check "on a phone as well" passes phone
check "of a model of 80 layers as well" passes layers80
check "of a model whose path is hostile and no UTF-8 as well" passes strange
check "without its script the page shows the same numbers" passes noscript
check "the markup is well-formed" is_well_formed xml
check "the page of 80 layers is small" is_small
check "it prints on a few pages" prints_on_few_pages
check "a script that fails is caught" script_error_is_caught
check "a wrong number is caught" is_caught broken "peak: 1, not"
check "a faint text is caught" is_caught broken "contrast of 4.5"
check "a tiny text is caught" is_caught broken "no text is below 12 px"
check "a key that does nothing is caught" is_caught broken "arrow keys"
check "a request is caught" request_is_caught
check "markup that is not closed is caught" broken_markup_is_caught
finish
