"""The files of each data set: where they lie, where they come from and how they are checked."""

from dataclasses import dataclass

from varpu.exceptions import PUInputError

UCI = "https://archive.ics.uci.edu/static/public/"
ZALANDO = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
TORONTO = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
STANFORD = "http://ai.stanford.edu/~acoates/stl10/stl10_binary.tar.gz"


@dataclass(frozen=True)
class File:
    """One file of a data set.

    Parameters
    ----------
    path : str
        Where it lies below a data folder, with forward slashes.
    size : int
        In bytes.
    checksum : str
        The algorithm and the sum, e.g. ``"sha256:52058b..."``.
    url : str or None
        The address of the file, or of the archive that holds it; None where there is none.
    member : str or None
        Its file name in that archive, in whatever folder; a name that ends in ``.Z`` is
        uncompressed. None where the address gives the file itself.
    """

    path: str
    size: int
    checksum: str
    url: str | None = None
    member: str | None = None

    @property
    def name(self) -> str:
        """The file name, without its folders."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class Entry:
    """A data set: its name, the number of its rows and its files, in the order they are read."""

    name: str
    rows: int
    files: tuple[File, ...]

    @property
    def size(self) -> int:
        """The size of all files, in bytes."""
        return sum(file.size for file in self.files)


def _cifar(name: str, sha256: str) -> File:
    file = f"{name}.bin"
    return File(f"cifar-10-batches-bin/{file}", 30_730_000, f"sha256:{sha256}", TORONTO, file)


def _fashion(name: str, size: int, sha256: str) -> File:
    return File(f"FashionMNIST/raw/{name}", size, f"sha256:{sha256}", ZALANDO + name)


def _stl(name: str, size: int, md5: str) -> File:
    # The SHA-256 of these files is not known here; the MD5 sums are those that torchvision checks.
    return File(f"stl10_binary/{name}", size, f"md5:{md5}", STANFORD, name)


_ENTRIES = (
    Entry(
        "page_blocks",
        5_473,
        (
            File(
                "page-blocks/page-blocks.data",
                355_745,
                "sha256:52058b6e19ba797b5e80ae6454ebb3b7a25016787e668dd3203393c236d22c78",
                UCI + "78/page+blocks+classification.zip",
                "page-blocks.data.Z",
            ),
        ),
    ),
    Entry(
        "page_blocks_authors",
        5_472,
        (
            File(
                "page-blocks/authors-pageblocks.txt",
                301_006,
                "sha256:4fbad2712cc135b1cc85dfd6a93b1eb38253f9aa1aea870d59750a7a0d360133",
            ),
        ),
    ),
    Entry(
        "grid_stability",
        10_000,
        (
            File(
                "grid-stability/Data_for_UCI_named.csv",
                2_374_176,
                "sha256:e693e63505e7457fe7095cd99480e966088000b191ee3d7f3564d620bf9f9440",
                UCI + "471/electrical+grid+stability+simulated+data.zip",
                "Data_for_UCI_named.csv",
            ),
        ),
    ),
    Entry(
        "avila",
        20_867,
        (
            File(
                "avila/avila-tr.txt",
                999_319,
                "sha256:493332af20f750a6b0f7b0c581dd2236bb68a8ace52b412aea1c9c82b2076357",
                UCI + "459/avila.zip",
                "avila-tr.txt",
            ),
            File(
                "avila/avila-ts.txt",
                999_942,
                "sha256:0ec227d595dd8d8dc6804a7139c8b6d6e00e21aaea0d9052085057aa98c3e589",
                UCI + "459/avila.zip",
                "avila-ts.txt",
            ),
        ),
    ),
    Entry(
        "fashion_mnist",
        70_000,
        (
            _fashion(
                "train-images-idx3-ubyte.gz",
                26_421_880,
                "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
            ),
            _fashion(
                "train-labels-idx1-ubyte.gz",
                29_515,
                "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
            ),
            _fashion(
                "t10k-images-idx3-ubyte.gz",
                4_422_102,
                "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
            ),
            _fashion(
                "t10k-labels-idx1-ubyte.gz",
                5_148,
                "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
            ),
        ),
    ),
    Entry(
        "cifar10",
        60_000,
        (
            _cifar(
                "data_batch_1",
                "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
            ),
            _cifar(
                "data_batch_2",
                "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
            ),
            _cifar(
                "data_batch_3",
                "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
            ),
            _cifar(
                "data_batch_4",
                "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
            ),
            _cifar(
                "data_batch_5",
                "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
            ),
            _cifar(
                "test_batch",
                "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
            ),
        ),
    ),
    Entry(
        "stl10",
        113_000,
        (
            _stl("train_X.bin", 138_240_000, "918c2871b30a85fa023e0c44e0bee87f"),
            _stl("train_y.bin", 5_000, "5a34089d4802c674881badbb80307741"),
            _stl("unlabeled_X.bin", 2_764_800_000, "5242ba1fed5e4be9e1e742405eb56ca4"),
            _stl("test_X.bin", 221_184_000, "7f263ba9f9e0b06b93213547f721ac82"),
            _stl("test_y.bin", 8_000, "36f9794fa4beb8a2c72628de14fa638e"),
        ),
    ),
)
DATASETS = {entry.name: entry for entry in _ENTRIES}


def lookup(name: str) -> Entry:
    """The data set of this name; ``page-blocks`` is as good as ``page_blocks``."""
    entry = DATASETS.get(name.replace("-", "_"))
    if entry is None:
        raise PUInputError(f"there is no data set {name!r}; there are {', '.join(DATASETS)}")
    return entry
