# The public names of tokenmill, each once: type checkers read this file, and so does __init__.py.
from tokenmill._cache import SegmentCache as SegmentCache
from tokenmill._calls.batch import TokenBatch as TokenBatch
from tokenmill._calls.encoded import (
    EncodedBatch as EncodedBatch,
    EncodedRow as EncodedRow,
)
from tokenmill._causal import CausalLMTokenizer as CausalLMTokenizer
from tokenmill._dataset import (
    PackedDataset as PackedDataset,
    PackedIterable as PackedIterable,
)
from tokenmill._errors import (
    BadRecordFound as BadRecordFound,
    BooksDiffer as BooksDiffer,
    ChatError as ChatError,
    CorruptModel as CorruptModel,
    CorruptShard as CorruptShard,
    DeadlineExceeded as DeadlineExceeded,
    DeviceError as DeviceError,
    DtypeError as DtypeError,
    EncodeError as EncodeError,
    InputError as InputError,
    InvalidUtf8 as InvalidUtf8,
    LoadError as LoadError,
    MissingDependency as MissingDependency,
    ModelNotReady as ModelNotReady,
    NodeFailed as NodeFailed,
    ObjectChanged as ObjectChanged,
    ObjectNotFound as ObjectNotFound,
    OptionError as OptionError,
    OutputError as OutputError,
    OutputInUse as OutputInUse,
    OutputTooSmall as OutputTooSmall,
    Overloaded as Overloaded,
    PatternError as PatternError,
    PlanDiffers as PlanDiffers,
    RankFailed as RankFailed,
    ReferencePathWarning as ReferencePathWarning,
    ServiceClosed as ServiceClosed,
    ShardTooLarge as ShardTooLarge,
    SourceNotFound as SourceNotFound,
    SpecialTokenInText as SpecialTokenInText,
    StoreError as StoreError,
    TextTooLong as TextTooLong,
    TextTypeError as TextTypeError,
    TokenmillError as TokenmillError,
    TooManyBadRecords as TooManyBadRecords,
    UnknownId as UnknownId,
    UnknownModel as UnknownModel,
    UnsupportedTokenizer as UnsupportedTokenizer,
)
from tokenmill._mill.inspect import inspect as inspect
from tokenmill._mill.output.manifest import Manifest as Manifest
from tokenmill._mill.pack import pack as pack
from tokenmill._mill.plan.sources import Source as Source
from tokenmill._mill.report.report import (
    CorpusReport as CorpusReport,
    report as report,
)
from tokenmill._mill.rewrite.rewrite import rewrite as rewrite
from tokenmill._mill.stream import (
    TokenStream as TokenStream,
    stream as stream,
)
from tokenmill._mill.verify.verify import (
    VerifyReport as VerifyReport,
    verify as verify,
)
from tokenmill._mill.write import write_shards as write_shards
from tokenmill._model.describe import Description as Description
from tokenmill._model.memory import (
    keep_models as keep_models,
    memory as memory,
)
from tokenmill._pack import Packer as Packer
from tokenmill._pack.rows import Pieces as Pieces
from tokenmill._service import Service as Service
from tokenmill._stats import (
    RunStats as RunStats,
    StageTotal as StageTotal,
    WordCounts as WordCounts,
)
from tokenmill._tokenizer import Tokenizer as Tokenizer
from tokenmill._tokenizer.budget import (
    BudgetBatch as BudgetBatch,
    BudgetBatches as BudgetBatches,
)
from tokenmill._tokenizer.session import (
    Appended as Appended,
    Session as Session,
)
from tokenmill.compat._patch import patch_transformers as patch_transformers

__version__: str
__all__: list[str]
