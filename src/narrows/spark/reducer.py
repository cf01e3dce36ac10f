"""A stage of a Pipeline of pyspark.ml, and the model that it becomes."""

from __future__ import annotations

from typing import Any, Self

from pyspark import keyword_only
from pyspark.ml import Estimator, Model
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasFeaturesCol, HasLabelCol, HasOutputCol, HasWeightCol
from pyspark.ml.util import MLReadable, MLWritable
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from narrows.errors import ParameterError
from narrows.methods.base import Estimator as Reduction
from narrows.spark.frames import fit, predict, transform
from narrows.spark.stored import Reader, Writer


class _Columns(HasFeaturesCol, HasLabelCol, HasWeightCol, HasOutputCol):
    """The parameters that both stages have."""

    estimator: Param[Any] = Param(Params._dummy(), "estimator", "the estimator of narrows")
    predictionCol: Param[str] = Param(  # noqa: N815 - as MLlib names it
        Params._dummy(),
        "predictionCol",
        "a new column of predicted classes, where the estimator predicts; none by default",
        typeConverter=TypeConverters.toString,
    )
    probabilityCol: Param[str] = Param(  # noqa: N815
        Params._dummy(),
        "probabilityCol",
        "a new column of the probabilities of the classes; none by default",
        typeConverter=TypeConverters.toString,
    )

    def _given(self, name: str) -> Any:
        """Return the value of a parameter, None if it has none."""
        param = self.getParam(name)
        return self.getOrDefault(param) if self.isDefined(param) else None

    def getEstimator(self) -> Any:
        """Return the estimator of narrows."""
        return self._given("estimator")

    def setFeaturesCol(self, value: str) -> Self:
        """Set the column of the samples."""
        return self._set(featuresCol=value)

    def setLabelCol(self, value: str) -> Self:
        """Set the column of labels."""
        return self._set(labelCol=value)

    def setWeightCol(self, value: str) -> Self:
        """Set the column of weights."""
        return self._set(weightCol=value)

    def setOutputCol(self, value: str) -> Self:
        """Set the new column of reduced samples."""
        return self._set(outputCol=value)

    def setPredictionCol(self, value: str) -> Self:
        """Set the new column of predicted classes."""
        return self._set(predictionCol=value)

    def setProbabilityCol(self, value: str) -> Self:
        """Set the new column of probabilities."""
        return self._set(probabilityCol=value)

    def _reduction(self) -> Any:
        """Return the estimator; ParameterError where it is missing or another one."""
        estimator = self.getEstimator()
        if not isinstance(estimator, Reduction):
            raise ParameterError(
                f"{type(self).__name__}: expected an estimator of narrows, such as SRDA(), got "
                f"{type(estimator).__name__}. Set estimator."
            )
        return estimator


class Reducer(Estimator, _Columns, MLWritable, MLReadable):
    """An estimator of narrows as a stage of a Pipeline of pyspark.ml.

    Parameters
    ----------
    estimator : narrows estimator
        The estimator to fit, as for `fit`. It is not changed.
    featuresCol : str, default="features"
        The column of vectors, arrays of floats, or texts.
    labelCol : str, default="label"
        The column of labels: text, integers or whole numbers. No StringIndexer is needed.
    weightCol : str, optional
        The column of weights.
    outputCol : str, default="reduced"
        The new column of reduced samples.
    predictionCol, probabilityCol : str, optional
        New columns of predicted classes and of probabilities, if the estimator predicts.

    Raises
    ------
    ParameterError
        In `fit`: there is no estimator, or a column for predictions is set and it does not predict.
        Others as for `fit`.

    See Also
    --------
    ReducerModel : The fitted stage.
    fit : The same as a function.

    Notes
    -----
    **Cost**: that of `fit`. Each name is also a ``Param``, so that ``ParamGridBuilder`` and
    ``CrossValidator`` can choose between estimators and their parameters:
    ``addGrid(reducer.estimator, [OC(), SRDA(alpha=0.1)])``.

    ``write().overwrite().save(path)`` and ``Reducer.load(path)`` store the name of the estimator
    and its parameters as JSON.

    Examples
    --------
    >>> from narrows import SRDA  # doctest: +SKIP
    >>> from narrows.spark import Reducer  # doctest: +SKIP
    >>> from pyspark.ml import Pipeline  # doctest: +SKIP
    >>> from pyspark.ml.classification import LogisticRegression  # doctest: +SKIP
    >>> reduce = Reducer(estimator=SRDA(), outputCol="z")  # doctest: +SKIP
    >>> model = Pipeline(stages=[reduce, LogisticRegression(featuresCol="z")])  # doctest: +SKIP
    >>> model.fit(df).transform(df)  # doctest: +SKIP
    """

    @keyword_only  # type: ignore[untyped-decorator]
    def __init__(
        self,
        *,
        estimator: Any = None,
        featuresCol: str = "features",
        labelCol: str = "label",
        weightCol: str | None = None,
        outputCol: str = "reduced",
        predictionCol: str | None = None,
        probabilityCol: str | None = None,
    ):
        super().__init__()
        self._setDefault(featuresCol="features", labelCol="label", outputCol="reduced")
        self.setParams(**self._input_kwargs)

    def setParams(self, **given: Any) -> Reducer:
        """Set parameters by name."""
        return self._set(**given)  # which leaves out those that are None

    def setEstimator(self, value: Any) -> Reducer:
        """Set the estimator of narrows."""
        return self._set(estimator=value)

    def _fit(self, dataset: Any) -> ReducerModel:
        estimator = self._reduction()
        for name in ("predictionCol", "probabilityCol"):
            if self._given(name) and not hasattr(estimator, "predict"):
                raise ParameterError(
                    f"Reducer: expected an estimator that predicts, such as SRDA, got "
                    f"{type(estimator).__name__}. Leave {name} out."
                )
        names = (self._given(name) for name in ("featuresCol", "labelCol", "weightCol"))
        # of another uid: CrossValidator sets parameters of this one in models of the same uid,
        # and the estimator of its grid is not the fitted one
        model = ReducerModel(estimator=fit(clone(estimator), dataset, *names))
        return self._copyValues(model, {self.getParam("estimator"): model.getEstimator()})

    def write(self) -> Writer:
        """Return the writer of the stage."""
        return Writer(self)

    @classmethod
    def read(cls) -> Reader:
        """Return the reader of stages."""
        return Reader(cls)


class ReducerModel(Model, _Columns, MLWritable, MLReadable):
    """A fitted estimator of narrows as a stage of a PipelineModel of pyspark.ml.

    Parameters
    ----------
    estimator : narrows estimator
        A fitted estimator, wherever it was fitted.

    See Also
    --------
    Reducer : The stage that is fitted.
    transform : The same as a function.

    Notes
    -----
    **Cost**: that of `transform` and `predict`. Set columns as for `Reducer`:
    ``model.set(model.outputCol, "z")``.

    ``write().overwrite().save(path)`` stores the estimator as the model file ``estimator.narrows``
    in the folder, which `narrows.load` also reads, and the metadata of Spark. Spark Connect cannot
    write such a file to HDFS or an object store; there the folder contains its bytes in Parquet,
    which only `ReducerModel.load` reads.

    Examples
    --------
    >>> import narrows  # doctest: +SKIP
    >>> from narrows.spark import ReducerModel  # doctest: +SKIP
    >>> ReducerModel(estimator=narrows.load("model.narrows")).transform(df)  # doctest: +SKIP
    """

    @keyword_only  # type: ignore[untyped-decorator]
    def __init__(self, *, estimator: Any = None):
        super().__init__()
        self._setDefault(featuresCol="features", labelCol="label", outputCol="reduced")
        self._set(**self._input_kwargs)

    def _transform(self, dataset: Any) -> Any:
        estimator, features = self._reduction(), self._given("featuresCol")
        check_is_fitted(estimator)
        found = transform(estimator, dataset, self.getOutputCol(), features_col=features)
        prediction, probability = self._given("predictionCol"), self._given("probabilityCol")
        if prediction is not None or probability is not None:
            name = prediction or f"prediction_{self.uid}"
            found = predict(
                estimator, found, name, probability_col=probability, features_col=features
            )
            found = found if prediction else found.drop(name)
        return found

    def write(self) -> Writer:
        """Return the writer of the stage."""
        return Writer(self)

    @classmethod
    def read(cls) -> Reader:
        """Return the reader of stages."""
        return Reader(cls)
