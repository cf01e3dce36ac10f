"""The methods, a file for each criterion or space. `MODULES` names the file of each method.

Nothing is imported here, so that names are known at once; `methods.METHODS` has the classes.
"""

# the package that a collection is of, and the module whose `fit` and `transform` take it;
# `narrows.engines` fills it
COLLECTIONS: dict[str, str] = {}

MODULES = {
    "OCFS": "selectors",
    "MMCFS": "selectors",
    "VarianceFS": "selectors",
    "FisherFS": "selectors",
    "IG": "selectors",
    "CHI": "selectors",
    "MI": "selectors",
    "DF": "selectors",
    "ForwardFS": "forward",
    "CorrelationFS": "selectors",
    "OC": "projectors",
    "OCM": "projectors",
    "MMC": "projectors",
    "PCA": "projectors",
    "SRDA": "discriminants",
    "LDA": "discriminants",
    "KernelSRDA": "discriminants",
    "LEACE": "erasure",
    "PLS": "regressors",
    "ReducedRank": "regressors",
    "IOC": "sequential",
    "IIS": "sequential",
    "IMMC": "sequential",
    "CCIPCA": "sequential",
    "ILDA": "sequential",
    "IDRQR": "idrqr",
    "OnlineSRDA": "online",
}
