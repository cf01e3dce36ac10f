"""The methods, a file for each criterion or space. `MODULES` names the file of each method.

Nothing is imported here, so that names are known at once; `methods.METHODS` has the classes.
"""

# the package that a collection is of, and the module whose `fit` and `transform` take it;
# `narrows.engines` fills it
COLLECTIONS: dict[str, str] = {}

MODULES = {
    "OCFS": "between",
    "OC": "centroid",
    "OCM": "centroid",
    "IOC": "between",
    "IIS": "between",
    "MMCFS": "margin",
    "MMC": "margin",
    "IMMC": "margin",
    "VarianceFS": "total",
    "PCA": "total",
    "CCIPCA": "total",
    "FisherFS": "fisher",
    "ForwardFS": "forward",
    "LDA": "lda",
    "SRDA": "srda",
    "KernelSRDA": "kernel_srda",
    "IDRQR": "idrqr",
    "ILDA": "fisher",
    "OnlineSRDA": "online_srda",
    "IG": "contingency",
    "CHI": "contingency",
    "MI": "contingency",
    "DF": "contingency",
    "CorrelationFS": "targets",
    "PLS": "regression",
    "ReducedRank": "regression",
}
