"""The command line: the verbs, the options that they share, and what they print.

`cli` is the program; `verbs` has the help of the verbs, whose work is in `learning` (fit, update
and merge), `transforming` (transform, predict, convert and export) and `reporting` (info, compare
and demo). `options` lists the options, `values` checks what they were set to, `runs` reads samples
in chunks, `labels` makes labels and classes one type, and `console` prints.
"""
