#!/usr/bin/env bash
# A stream of JSON lines that changes, from the shell: learned, killed, continued, and used.
#
#     bash examples/pipe.sh [folder]
#
# Makes mails.jsonl of its own words (what distinguishes the classes changes half way), sends it
# through a pipe, kills the fit with -9 in the middle, and updates its checkpoint by the other rows.
set -euo pipefail
cd "${1:-$(mktemp -d)}"

python3 - <<'END' > mails.jsonl
import json, random

random.seed(0)
words = {"spam": ["prize", "cheap", "winner", "pills"], "ham": ["meeting", "draft", "lunch", "train"]}
for i in range(12_000):
    label = random.choice(list(words))
    if i == 6_000:
        words["spam"] = ["invoice", "account", "verify", "urgent"]  # a new trick
    text = " ".join(random.choices(words[label], k=3) + random.choices(["the", "of", "you"], k=3))
    print(json.dumps({"label": label, "text": text}))
END

fit() {
  narrows fit - --method onlinesrda --half-life 2000 --vectorizer hashing \
    --hash-columns 4096 --idf-sample 1000 --chunk-rows 250 "$@"
}
slowly() {
  local lines
  while mapfile -n 100 lines && [ "${#lines[@]}" -gt 0 ]; do printf '%s' "${lines[@]}"; sleep 0.1; done
}

echo "-- killed in the middle: the checkpoint is a model of the rows so far"
slowly < mails.jsonl | fit -o m.narrows --checkpoint c.narrows --every 500 &
fitting=$!
until [ -e c.narrows ]; do sleep 0.05; done
sleep 0.5
pkill -9 -P "$fitting"
wait "$fitting" 2>/dev/null || true
narrows info c.narrows --top 1 | head -n 2

echo "-- continued: the other rows are an update"
rows=$(narrows info c.narrows --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["rows"])')
tail -n +"$((rows + 1))" mails.jsonl | narrows update c.narrows - -o m.narrows

narrows transform m.narrows mails.jsonl -o reduced.npz
