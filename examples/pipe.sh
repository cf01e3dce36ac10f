#!/usr/bin/env bash
# A stream of JSON lines that changes, from the shell: learnt, killed, resumed, and used.
#
#     bash examples/pipe.sh [folder]
#
# Makes mails.jsonl of its own words (what tells the classes apart changes half way), sends it
# through a pipe, kills the fit with -9 in the middle, resumes it twice, from a pipe that repeats
# everything and from one that begins where it stopped, and compares with a run nobody touched.
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

fit -o whole.narrows < mails.jsonl

echo "-- killed in the middle"
slowly < mails.jsonl | fit -o m.narrows --checkpoint c.narrows --every 500 &
fitting=$!
until [ -e c.narrows ]; do sleep 0.05; done
sleep 0.5
pkill -9 -P "$fitting"
wait "$fitting" 2>/dev/null || true
cp c.narrows again.narrows
narrows info c.narrows --top 1 | head -n 2

echo "-- resumed: everything comes again, and what was learnt is passed over"
fit -o m.narrows --checkpoint c.narrows --resume < mails.jsonl
cmp m.narrows whole.narrows && echo "the same bytes"

echo "-- resumed: the pipe begins where the fit stopped"
rows=$(narrows info again.narrows --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["rows"])')
tail -n +"$((rows + 1))" mails.jsonl |
  fit -o n.narrows --checkpoint again.narrows --resume --from-position
cmp n.narrows whole.narrows && echo "the same bytes"

narrows transform m.narrows mails.jsonl -o reduced.npz
