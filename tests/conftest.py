"""What tests share: the real data, where it is, the command line, and what is said of skips."""

from __future__ import annotations

import os
import re
import signal
from collections import Counter, defaultdict
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from zlib import crc32

# before NumPy is loaded, and for the processes that tests start: several workers with as many
# threads as there are cores each would spend most of their time in waiting for each other
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import pytest
from hypothesis import settings

import narrows
from narrows.command import cli
from tests.forks import piped_input
from tests.inside import pretend

pretend(pytest.MonkeyPatch(), "loops are compiled")  # tests/test_compiled.py has the plain ones
EVERYTHING = os.environ.get("NARROWS_TESTS") == "all"  # more draws, and random ones


def slow(*values):
    """A row of parameters that `make test` leaves out."""
    return pytest.param(*values, marks=pytest.mark.slow)


def nightly(*values):
    """A row of parameters that only `make nightly` takes."""
    return pytest.param(*values, marks=[pytest.mark.slow, pytest.mark.nightly])


ONE_BY_ONE = {  # whose tests take seconds, and share nothing
    f"tests/test_{name}.py"
    for name in ("readme", "docs", "memory", "reference", "forgery", "benchmarks")
}

settings.register_profile("narrows", deadline=None, derandomize=True, max_examples=12)
settings.register_profile("everything", deadline=None, max_examples=25, print_blob=True)
settings.load_profile("everything" if EVERYTHING else "narrows")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a background job of a shell script
    signal.signal(signal.SIGINT, signal.default_int_handler)  # children would ignore it, too


collect_ignore = [] if find_spec("pyspark") else ["spark"]


def pytest_report_header():
    """Say what is left out."""
    return [f"{folder}: left out, needs pyspark (make test-spark)" for folder in collect_ignore]


NO_DATA = "needs the real data sets of NARROWS_DATA"


@pytest.fixture(scope="session")
def data() -> Path:
    """Return the folder of real data sets, or skip."""
    folder = os.environ.get("NARROWS_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip(NO_DATA)
    return Path(folder)


# tests whose slow cases only make nightly runs: they take two seconds or more, are many, or need
# the extra `long`
NIGHTLY = (
    "test_19_directions_of_srda_keep_nearly_all_there_is_to_know",
    "test_a_few_parts_of_files_are_enough",
    "test_a_file_may_turn_out_to_be_too_wide_for_cross_products",
    "test_a_fit_in_a_task_uses_the_cluster_of_the_task",
    "test_a_forged_model_is_refused_or_harmless",
    "test_a_large_file_of_vectors_takes_little_memory",
    "test_a_line_of_a_gigabyte_takes_little_memory",
    "test_a_long_stream_keeps_its_digits",
    "test_a_lost_scheduler_is_an_error",
    "test_a_million_words_in_any_order",
    "test_a_model_has_the_same_bytes_in_every_process",
    "test_a_part_that_kills_its_workers_is_an_error",
    "test_a_pipe_that_begins_slowly_and_one_that_is_closed",
    "test_a_state_that_forgets_has_the_digits_of_what_it_knows",
    "test_a_state_that_is_stopped_while_new_classes_are_added_is_as_it_was",
    "test_a_stopped_update_changes_nothing",
    "test_a_stream_takes_constant_memory",
    "test_a_subtraction_that_loses_digits_warns_where_it_is_written",
    "test_a_wide_state_needs_no_process_of_its_size",
    "test_a_window_is_the_fit_of_its_rows",
    "test_a_window_takes_all_of_a_batch_or_nothing",
    "test_a_word_of_ten_megabytes",
    "test_a_worker_that_is_killed_in_either_pass_is_replaced",
    "test_an_estimator_that_predicts_also_transforms",
    "test_an_update_that_is_stopped_changes_nothing",
    "test_an_update_that_is_stopped_changes_nothing_or_ends_all_use",
    "test_an_update_that_is_stopped_leaves_all_or_nothing_or_ends_all_use",
    "test_bands_are_refused",
    "test_bands_of_64_parts_are_those_of_a_local_fit",
    "test_chunks_do_not_matter_where_the_map_is_made",
    "test_classes_that_no_plane_separates",
    "test_compare_shows_r2_and_a_command_that_runs",
    "test_ctrl_c_ends_a_fit_on_a_cluster",
    "test_damage_is_an_error_or_what_scikit_learn_reads",
    "test_dask_arrays_in_any_blocks",
    "test_dask_keeps_no_rows",
    "test_dask_learns_a_file_in_parts",
    "test_digits_are_predicted",
    "test_documents",
    "test_embeddings",
    "test_embeddings_are_studied_by_dimension_with_classes_held_out_and_drawn",
    "test_estimators_accept_tensors",
    "test_every_character_is_the_word_that_python_makes_of_it",
    "test_every_method_can_be_compared",
    "test_every_method_runs_and_is_measured",
    "test_faces_are_known_again",
    "test_files_of_many_columns_keep_those_to_start_with",
    "test_float32_is_the_same_numbers_in_every_size",
    "test_hidden_features_cost_little",
    "test_immc_tends_to_the_leading_eigenvector_of_the_margin",
    "test_killed_twenty_times_it_ends_with_the_same_bytes",
    "test_later_parts_may_have_too_many_features_for_sums",
    "test_laws",
    "test_many_coordinates_hold_out_one_part_of_a_thousand_samples",
    "test_many_dense_rows_are_added_on_all_cores",
    "test_memory_of_hidden_features_is_bounded",
    "test_methods_for_numbers_are_regressors_of_river",
    "test_methods_learn_small_data_without_numba",
    "test_micro_f1_of_20_newsgroups",
    "test_mmc_of_many_samples_and_features_is_exact",
    "test_near_ties_are_not_certified_wrongly",
    "test_no_index_of_a_forged_model_leaves_its_array",
    "test_no_row_of_sparse_files_and_texts_lies_in_the_model",
    "test_noise_is_rarely_recommended",
    "test_normal_features_and_rare_classes_are_not_taken_for_heavy_tails",
    "test_of_two_updates_at_once_one_is_refused",
    "test_one_pass_keeps_nearly_all_there_is_to_know",
    "test_onnxruntime_gives_r8_the_labels_of_the_command",
    "test_other_bytes_in_an_array_are_an_error_or_other_numbers",
    "test_parameters_can_be_searched",
    "test_random_rows",
    "test_random_states",
    "test_real_data_have_the_same_directions_in_all_ways",
    "test_real_documents_and_images",
    "test_results_are_those_of_scanpy",
    "test_river_scores_probabilities",
    "test_river_wraps_it_and_measures_its_memory",
    "test_rivers_checks_pass_as_a_whole",
    "test_scanpy_draws_the_results",
    "test_sentence_transformers_loads_the_module",
    "test_shards_of_20_newsgroups_merge_with_little_loss",
    "test_shards_of_digits_are_one_fit",
    "test_ten_million_columns_under_4_gb",
    "test_tensors_that_numpy_cannot_read_are_errors",
    "test_terms_of_texts_are_features_to_start_with",
    "test_the_blocks_of_a_page_run",
    "test_the_command_line_is_python",
    "test_the_command_line_learns_what_python_does",
    "test_the_command_writes_results",
    "test_the_example_from_the_shell",
    "test_the_fastest_scripts_run",
    "test_the_gallery_needs_no_data",
    "test_the_most_hidden_features",
    "test_the_origin_follows_small_batches",
    "test_the_same_parts_give_the_same_bits",
    "test_the_study_has_a_row_for_each_method_and_a_column_for_each_size",
    "test_two_fits_at_once_have_a_cluster_each",
    "test_umap_and_hdbscan_take_what_tfidf_makes",
    "test_waveform",
    "test_what_a_worker_was_sent_is_sent_again_if_it_dies",
    "test_what_is_certified_is_true_in_every_order",
    "test_what_is_not_finite_is_seen_in_many_rows",
    "test_what_is_read_after_merging_does_not_depend_on_the_order_either",
    "test_what_was_done_is_reported_when_it_is_stopped",
    "test_without_a_client_a_cluster_is_started_and_closed",
)


# of each law, how many estimators `make test` and then `make test-slow` take; the rest is nightly
CASES = {"slow": 2, "nightly": 1}
ESTIMATOR = re.compile(
    rf"(?<=[-\[])((?:{'|'.join(name for name in narrows.__all__ if name[0].isupper())})"
    r"(?:\(.*?\))?)(?=[-\]])",
    re.IGNORECASE,  # commands have names of methods in lower case
)


def mark_all_but_a_sample(items):
    """Mark the cases of laws that hold for many estimators, but for a few estimators of each law.

    The estimator is what the id of a test names, such as ``OC(n_components=1)``, and the law is
    the rest of the id. A law takes the estimators that the laws above it in the file took least
    often; of several, those whose ids have the lowest hash. What has no estimator is no such case.
    """
    items = [item for item in items if "[" in item.nodeid]
    for mark, number in CASES.items():
        laws, taken = defaultdict(list), Counter()
        for item in items:
            law, *named = ESTIMATOR.split(item.nodeid)
            if named and not any(map(item.get_closest_marker, (mark, "skip"))):
                laws[law, *named[1::2]].append(((item.path, *named[::2]), item))
        for cases in laws.values():
            cases.sort(key=lambda case: (taken[case[0]], crc32(case[1].nodeid.encode())))
            taken.update(named for named, _ in cases[:number])
            for _, item in cases[number:]:
                item.add_marker(mark)
        items = [item for item in items if item.get_closest_marker(mark)]


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks and names
def pytest_collection_modifyitems(items):
    """Mark what is slow and nightly, and the tests of hypothesis, which NARROWS_TESTS=all extends.

    Of `NIGHTLY` only cases that are slow.
    """
    for item in items:
        name = getattr(item, "originalname", "")
        if name in NIGHTLY and item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.nightly)
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker(pytest.mark.more)
    mark_all_but_a_sample(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Let each file have one worker, as clusters and commands want it, but for a few long files."""
    from xdist.scheduler import LoadFileScheduling

    class FilesAndLongTests(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = super()._split_scope(nodeid)
            return nodeid if file in ONE_BY_ONE else file

    return FilesAndLongTests(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_terminal_summary(terminalreporter):
    """Say in one line how many tests were skipped for want of data, and in one each for others."""
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", ())
    )
    without_data = sum(n for reason, n in reasons.items() if NO_DATA in reason)
    if without_data:
        terminalreporter.write_line(
            f"{without_data} tests skipped: they need real data sets. NARROWS_DATA=FOLDER make "
            "nightly runs them, with the files that CONTRIBUTING.md lists in FOLDER."
        )
    for reason, n in reasons.items():
        if NO_DATA not in reason:
            terminalreporter.write_line(f"{n} tests skipped: {reason}")


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    """Run a command in an empty folder, perhaps with standard input; (status, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)

    def run(line, stdin=None, **files):
        for name, content in files.items():
            (tmp_path / name.replace("__", ".")).write_text(content)
        with nullcontext() if stdin is None else piped_input(stdin):
            status = cli.main(line.split())
        out, err = capfd.readouterr()
        return status, out, err

    return run
