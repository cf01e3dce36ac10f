"""The blocks of the page on Spark run as printed, and print what stands below them."""

from tests.test_readme import ROOT, blocks_of, run

OF_CONNECT = ("SPARK_REMOTE", "SPARK_LOCAL_REMOTE", "SPARK_CONNECT_MODE_ENABLED")


def test_the_blocks_of_the_page_run(tmp_path, monkeypatch):
    for name in OF_CONNECT:  # which a session of this process sets
        monkeypatch.delenv(name, raising=False)
    blocks = blocks_of(ROOT / "docs" / "how_to" / "spark.md")
    found, _ = run(blocks, tmp_path)
    assert [block.printed for block in blocks] == found
