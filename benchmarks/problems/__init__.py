"""Labelled data to measure on; one class a file."""

from benchmarks.problems.news import News
from benchmarks.problems.orl import Orl
from benchmarks.problems.rcv1_like import RCV1Like, RCV1LikeLong

PROBLEMS = {problem.name: problem for problem in (News, RCV1Like, RCV1LikeLong, Orl)}
