"""Checkpoints that `make` writes, of fits that are interrupted."""

import os

WHEN = 1_700_000_000  # the inputs' time of modification, which a checkpoint holds
_ONLINE = "--method onlinesrda --param keep=20 --param random_state=0"
# name: data, command, rows of a chunk, how many checkpoints are written before the interrupt
RUNS = {
    "csv_oc": ("a.csv", "--method oc", 20, 2),
    "csv_srda": ("a.csv", "--method srda --alpha 1", 20, 2),
    "csv_online": ("a.csv", _ONLINE, 20, 2),
    "texts": ("a.jsonl", "--method ocfs --n-features 2", 2, 2),
}


def command_of(name, runs=RUNS):
    """Return the words of a fit that writes checkpoints."""
    data, command, rows, _ = runs[name]
    more = f"--chunk-rows {rows} --every {rows} --checkpoint {name}.checkpoint -o m.narrows"
    return ["fit", data, *command.split(), *more.split()]


def make(runs=RUNS):
    """Write a checkpoint of each, in the folder where the data lie, and what the fits reduce."""
    import numpy as np

    from narrows.command.cli import main
    from narrows.io import checkpoint
    from narrows.io.checkpoint import save_checkpoint as save

    expected = {}
    for name, (data, *_, times) in runs.items():
        saved = []

        def interrupted(*args, saved=saved, times=times):
            saved.append(args)
            if len(saved) == times:  # the command writes it where it ends
                raise KeyboardInterrupt
            save(*args)

        os.utime(data, (WHEN, WHEN))
        assert main(command_of(name, runs)) == 0  # removes the checkpoint
        assert main(["transform", "m.narrows", data, "-o", "reduced.npz"]) == 0
        expected |= {f"{name}/{key}": array for key, array in np.load("reduced.npz").items()}
        checkpoint.save_checkpoint = interrupted
        assert main(command_of(name, runs)) == 130
        checkpoint.save_checkpoint = save
    np.savez_compressed("checkpoints.npz", **expected)
