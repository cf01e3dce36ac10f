"""The methods, a file for each criterion or space; `METHODS` maps their names to their classes."""

from narrows.families.between import OCFS
from narrows.families.between_online import IIS, IOC
from narrows.families.centroid import OC, OCM
from narrows.families.chi_squared import CHI
from narrows.families.contingency import IG, MI
from narrows.families.document_frequency import DF
from narrows.families.fisher import ILDA, FisherFS
from narrows.families.idrqr import IDRQR
from narrows.families.kernel_srda import KernelSRDA
from narrows.families.lda import LDA
from narrows.families.margin import MMC, MMCFS
from narrows.families.margin_online import IMMC
from narrows.families.online_srda import OnlineSRDA
from narrows.families.srda import SRDA
from narrows.families.total import CCIPCA, PCA, VarianceFS

METHODS = {
    method.__name__: method
    for method in (
        *(OCFS, OC, OCM, IOC, IIS),
        *(MMCFS, MMC, IMMC),
        *(VarianceFS, PCA, CCIPCA),
        *(FisherFS, LDA, SRDA, KernelSRDA, IDRQR, ILDA, OnlineSRDA),
        *(IG, CHI, MI, DF),
    )
}
