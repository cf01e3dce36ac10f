"""The command line: the verbs, the options that they share, and what they print.

`cli` is the program; `learning` has fit, update and merge, `transforming` transform, predict and
convert, `reporting` info, compare and demo, `exporting` export. `options` lists the options,
`values` checks what they were set to, `runs` fits an estimator to files, `console` prints, and
`interrupts` times Ctrl-C.
"""
