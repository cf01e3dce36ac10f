"""Labelled data to measure on; one class a file, or a size of it."""

from benchmarks.problems.dense import (
    Embeddings384,
    Embeddings768,
    Embeddings1536,
    Faces,
)
from benchmarks.problems.news import R8, News
from benchmarks.problems.orl import Orl
from benchmarks.problems.rcv1_like import (
    ManyClasses,
    RCV1Like,
    RCV1Like10k,
    RCV1Like100k,
    RCV1LikeLong,
    Wide,
)
from benchmarks.problems.real import (
    Electricity,
    RCV1FourClasses,
    RCV1Topics,
    Re0,
    Re1,
    SpamMails,
    Tr41,
    Waveform,
)

PROBLEMS = {
    problem.name: problem
    for problem in (
        News,
        RCV1FourClasses,
        RCV1Topics,
        R8,
        Tr41,
        Re0,
        Re1,
        SpamMails,
        Electricity,
        Waveform,
        RCV1Like10k,
        RCV1Like100k,
        RCV1Like,
        RCV1LikeLong,
        Wide,
        ManyClasses,
        Embeddings384,
        Embeddings768,
        Embeddings1536,
        Faces,
        Orl,
    )
}
