"""Ways to learn from labelled data, ours and others; one class a file."""

from benchmarks.methods.bare import Bare, Limit, Total
from benchmarks.methods.chi import ChiSquared
from benchmarks.methods.chi2 import Chi2
from benchmarks.methods.discriminant import (
    BatchIDRQR,
    DenseLDA,
    MaximumMargin,
    SpectralRegression,
    StreamedIDRQR,
)
from benchmarks.methods.discriminant_rivals import OneByOne, ScikitLDA
from benchmarks.methods.f_classif import FClassif
from benchmarks.methods.ig import InformationGain
from benchmarks.methods.incremental_pca import IncrementalComponents
from benchmarks.methods.literal import DenseIOC, PrintedIOC
from benchmarks.methods.mutual_info import MutualInfo
from benchmarks.methods.oc import OrthogonalCentroid
from benchmarks.methods.ocfs import OrthogonalCentroidSelection
from benchmarks.methods.one_pass import SGD, SVD100, OnePass, OnePassRead, OnePassReadTenth
from benchmarks.methods.online import OnlineCCIPCA, OnlineIIS, OnlineIMMC, OnlineIOC
from benchmarks.methods.select_k_best import RiverSelect
from benchmarks.methods.truncated_svd import SVD

METHODS = {
    method.name: method
    for method in (
        Bare,
        Limit,
        Total,
        OrthogonalCentroidSelection,
        OrthogonalCentroid,
        InformationGain,
        ChiSquared,
        Chi2,
        FClassif,
        MutualInfo,
        RiverSelect,
        SVD,
        SVD100,
        SGD,
        OnePass,
        OnePassRead,
        OnePassReadTenth,
        SpectralRegression,
        OneByOne,
        DenseLDA,
        ScikitLDA,
        MaximumMargin,
        BatchIDRQR,
        StreamedIDRQR,
        OnlineIOC,
        OnlineIIS,
        OnlineIMMC,
        OnlineCCIPCA,
        PrintedIOC,
        DenseIOC,
        IncrementalComponents,
    )
}
