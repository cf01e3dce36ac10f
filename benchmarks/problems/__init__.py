"""Labelled data to measure on; one class a file, or a size of it."""

from benchmarks.problems.dense import Embeddings, Faces
from benchmarks.problems.news import News
from benchmarks.problems.orl import Orl
from benchmarks.problems.rcv1_like import (
    ManyClasses,
    RCV1Like,
    RCV1Like10k,
    RCV1Like100k,
    RCV1LikeLong,
    Wide,
)
from benchmarks.problems.real import RCV1FourClasses, Tr41

PROBLEMS = {
    problem.name: problem
    for problem in (
        News,
        RCV1FourClasses,
        Tr41,
        RCV1Like10k,
        RCV1Like100k,
        RCV1Like,
        RCV1LikeLong,
        Wide,
        ManyClasses,
        Embeddings,
        Faces,
        Orl,
    )
}
