"""Tables of the documentation, made by a command; one file a question.

``python -m benchmarks study NAME`` prints the table of a study; ``--write`` puts it into
``docs/results/NAME.csv``, which the pages show.
"""

from benchmarks.studies.calibration import Calibration
from benchmarks.studies.chosen import ChosenComponents, ChosenEps, ChosenMu
from benchmarks.studies.claims import Claims
from benchmarks.studies.cluster import Cluster
from benchmarks.studies.cores import Cores
from benchmarks.studies.cross import CrossCost, CrossState
from benchmarks.studies.dicts import Dicts
from benchmarks.studies.embeddings import (
    EmbeddingsCheck,
    EmbeddingsCost,
    EmbeddingsKNN,
    EmbeddingsNeighbours,
    EmbeddingsSummary,
    EmbeddingsSVM,
    EmbeddingsUnseen,
)
from benchmarks.studies.epsilon import Epsilon
from benchmarks.studies.erasure import Erasure
from benchmarks.studies.f1_by_columns import F1ByColumns
from benchmarks.studies.files import EmbeddingFiles, Files
from benchmarks.studies.flipped_labels import FlippedLabels
from benchmarks.studies.folds import HeldOutFeatures, HeldOutMargins, HeldOutSummary
from benchmarks.studies.forward import ForwardRivals, ForwardSteps
from benchmarks.studies.growth import ByClasses, ByFeatures, BySamples
from benchmarks.studies.instead import Instead
from benchmarks.studies.kernel import (
    KernelDimensions,
    KernelParameters,
    KernelPredictions,
    KernelScaling,
    KernelSets,
)
from benchmarks.studies.lengths import Lengths
from benchmarks.studies.merging import Merging
from benchmarks.studies.neighbours import Mu, NearestNeighbour
from benchmarks.studies.nineteen import Nineteen
from benchmarks.studies.numbers import Numbers, NumbersCost, NumbersFile
from benchmarks.studies.offsets import Offsets
from benchmarks.studies.one_by_one import OneByOne
from benchmarks.studies.one_pass import OnePass, Rivals
from benchmarks.studies.order import Order
from benchmarks.studies.overlap import OwnTerms, SharedColumns
from benchmarks.studies.probabilities import Probabilities, RareProbabilities
from benchmarks.studies.probes import Probes
from benchmarks.studies.ratio import TraceRatio
from benchmarks.studies.refits import EmbeddingsAlign
from benchmarks.studies.research import ResearchTime
from benchmarks.studies.retrieval import (
    PrecisionAt10,
    RecallAt1,
    RecallAt10,
    RetrievalRivals,
    RetrievalTime,
)
from benchmarks.studies.ridge import Ridge, RidgePosteriors
from benchmarks.studies.seconds import Seconds
from benchmarks.studies.spark import Spark
from benchmarks.studies.start import Start
from benchmarks.studies.tables import Tables
from benchmarks.studies.texts import Texts
from benchmarks.studies.theta import Theta
from benchmarks.studies.two_stages import TwoStages
from benchmarks.studies.uneven_classes import UnevenClasses
from benchmarks.studies.updates import Updates
from benchmarks.studies.which import (
    FewColumns,
    FewDimensions,
    RareClasses,
    SecondsToLearn,
    Sets,
    SeveralLabels,
    Stream,
    ToTheBest,
)
from benchmarks.studies.wide import Wide

STUDIES = {
    study.name: study
    for study in (
        F1ByColumns,
        Seconds,
        SharedColumns,
        OwnTerms,
        UnevenClasses,
        TwoStages,
        FlippedLabels,
        Epsilon,
        TraceRatio,
        ForwardRivals,
        ForwardSteps,
        HeldOutFeatures,
        HeldOutSummary,
        HeldOutMargins,
        ChosenComponents,
        ChosenMu,
        ChosenEps,
        Theta,
        OneByOne,
        Probes,
        Nineteen,
        NearestNeighbour,
        Mu,
        Updates,
        OnePass,
        Rivals,
        Order,
        Merging,
        Wide,
        Instead,
        Calibration,
        Offsets,
        CrossCost,
        CrossState,
        BySamples,
        ByFeatures,
        ByClasses,
        Cores,
        Ridge,
        Lengths,
        RidgePosteriors,
        KernelSets,
        KernelPredictions,
        KernelDimensions,
        KernelParameters,
        KernelScaling,
        Erasure,
        EmbeddingsSummary,
        EmbeddingsSVM,
        EmbeddingsKNN,
        EmbeddingsNeighbours,
        EmbeddingsUnseen,
        EmbeddingsAlign,
        RecallAt1,
        RecallAt10,
        PrecisionAt10,
        RetrievalRivals,
        RetrievalTime,
        ResearchTime,
        EmbeddingsCost,
        EmbeddingsCheck,
        Sets,
        FewDimensions,
        ToTheBest,
        RareClasses,
        FewColumns,
        SecondsToLearn,
        Stream,
        SeveralLabels,
        Files,
        EmbeddingFiles,
        Texts,
        Cluster,
        Spark,
        Start,
        Tables,
        Probabilities,
        RareProbabilities,
        Dicts,
        Numbers,
        NumbersCost,
        NumbersFile,
        Claims,
    )
}
