"""The methods, one file a criterion; `METHODS` names all of them."""

from narrows.families.between import IIS, IOC, OC, OCFS, OCM
from narrows.families.contingency import CHI, DF, IG, MI
from narrows.families.fisher import ILDA, LDA, SRDA, FisherFS
from narrows.families.idrqr import IDRQR
from narrows.families.margin import IMMC, MMC, MMCFS
from narrows.families.online_srda import OnlineSRDA
from narrows.families.total import CCIPCA, VarianceFS

METHODS = {
    method.__name__: method
    for method in (
        *(OCFS, OC, OCM, IOC, IIS),
        *(MMCFS, MMC, IMMC),
        *(VarianceFS, CCIPCA),
        *(FisherFS, LDA, SRDA, IDRQR, ILDA, OnlineSRDA),
        *(IG, CHI, MI, DF),
    )
}
