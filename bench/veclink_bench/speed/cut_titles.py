"""Real vectors at the size and shape of the paper's largest case, FEVER, linked on one GPU.

    veclink bench cut-titles STAGE [--rows 3500000] [--seeds 30] [--memory 60GB] [--device cuda] [--limit N]
        [--out cut_titles.json]

STAGE holds titles.tokens.npz (the tokens of 1.8M real titles one after the other, and the length of each) and the
encoders minilm/ and e5/, each with config.json and *.safetensors. Every title is cut into up to four texts: the whole,
its first, its second and its middle half. Texts of fewer than 4 tokens are left out, and of equal texts one is kept.
Of these so many are drawn that each side holds `--rows` of them, 30 % of all being on both. Side A is embedded by
MiniLM into 1,024 numbers, side B by e5-small into 1,536: the mean hidden states of several layers side by side.
The seconds are of link() alone, from arrays in host memory on, after a warm-up with 60,000 of the texts. `--limit`
reads the first N titles only.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from veclink.errors import needed
from veclink_bench.arguments import parser
from veclink_bench.speed.gpu_linking import OVERLAP, SEEDS, WARM_UP, Watched
from veclink_bench.splits import Split, split
from veclink_bench.versions import version_of

MIN_TOKENS = 4
BATCH = 8192
PAD, CLS, SEP = 0, 101, 102
MULTIPLIER = 0x9E3779B97F4A7C15  # odd, so that no power of it is 0 modulo 2**64
MADE = (
    "Real titles cut into the whole, the first, the second and the middle half of their tokens, distinct texts of at "
    "least 4 tokens; side A by all-MiniLM-L6-v2, the mean hidden states of layers 6, 4 and 2, each of unit length, "
    "side by side and cut to 1,024 numbers; side B by e5-small with its prefix, likewise of layers 12, 10, 8 and 6, "
    "1,536 numbers."
)


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts as stretches of one array of tokens.

    tokens: (t,) integers. starts, lengths: (n,), text i is tokens[starts[i] : starts[i] + lengths[i]].
    """

    tokens: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray

    def __len__(self) -> int:
        return len(self.starts)

    def take(self, rows: np.ndarray) -> Texts:
        """The texts of these rows, in this order."""
        return Texts(self.tokens, self.starts[rows], self.lengths[rows])


@dataclass(frozen=True)
class Encoder:
    """A BERT by its folder in STAGE: tokens before each text, the layers that make the vector, its dimension."""

    name: str
    prefix: tuple[int, ...]
    layers: tuple[int, ...]
    dimension: int


MINILM = Encoder("minilm", (), (6, 4, 2), 1024)
E5 = Encoder("e5", (6019, 1024), (12, 10, 8, 6), 1536)  # it expects "passage:" before a text


def main() -> None:
    """Cut, embed, warm up and link; print as it goes, write JSON."""
    arguments = parser(__doc__)
    arguments.add_argument("stage", type=Path)
    arguments.add_argument("--rows", type=int, default=3_500_000, help="on each side")
    arguments.add_argument("--seeds", type=int, default=SEEDS)
    arguments.add_argument("--memory", default="60GB", help="of link()")
    arguments.add_argument("--device", default="cuda")
    arguments.add_argument("--limit", type=int, help="read so many titles only")
    arguments.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", ".")) / "cut_titles.json")
    given = arguments.parse_args()
    name = torch.cuda.get_device_name() if given.device == "cuda" else given.device
    result: dict[str, Any] = {"device": name, "torch": torch.__version__, "version": version_of("span"), "made": MADE}

    def add(**measured: Any) -> None:
        print(json.dumps(measured), flush=True)
        result.update(measured)

    began = time.perf_counter()
    titles = read_titles(given.stage / "titles.tokens.npz", given.limit)
    texts = cut_titles(titles)
    kept = texts.take(distinct(texts))
    objects = draw(kept, given.rows)
    cutting = round(time.perf_counter() - began, 1)
    add(titles=len(titles), texts=len(texts), distinct_texts=len(kept), cutting_seconds=cutting)
    wanted = objects_for(given.rows)
    if len(objects) < wanted:
        add(note=f"{given.rows:,} rows a side need {wanted:,} texts; there are {len(kept):,}, and all are used.")
    cut = split(len(objects), OVERLAP, np.random.default_rng(0))
    a, seconds_a = embed(objects.take(cut.rows_a), MINILM, given.stage, given.device)
    add(embedding_seconds_a=seconds_a, shape_a=a.shape)
    b, seconds_b = embed(objects.take(cut.rows_b), E5, given.stage, given.device)
    add(embedding_seconds_b=seconds_b, shape_b=b.shape)
    given.out.write_text(json.dumps(result, indent=2) + "\n")
    watched = Watched(given.device, given.memory, n_seeds=given.seeds)
    warm_up = watched.link(*first_objects(a, b, cut, WARM_UP))  # loads libraries, compiles kernels
    print(json.dumps({"warm_up": warm_up}), flush=True)
    add(run=watched.link(a, b, cut))
    given.out.write_text(json.dumps(result, indent=2) + "\n")


def read_titles(file: Path, limit: int | None = None) -> Texts:
    """The first `limit` titles, or all."""
    with np.load(file) as stored:
        lengths = stored["lengths"][:limit].astype(np.int64)
        tokens = stored["tokens"][: lengths.sum()]
    return Texts(tokens, np.cumsum(lengths) - lengths, lengths)


def cut_titles(titles: Texts) -> Texts:
    """All titles, then the first, second and middle halves of all, without those of fewer than MIN_TOKENS tokens."""
    whole = titles.lengths
    quarter, half, three_quarters = whole // 4, whole // 2, 3 * whole // 4
    nothing = np.zeros_like(whole)
    cuts = ((nothing, whole), (nothing, half), (half, whole), (quarter, three_quarters))
    starts = np.concatenate([titles.starts + first for first, _ in cuts])
    lengths = np.concatenate([end - first for first, end in cuts])
    long_enough = lengths >= MIN_TOKENS
    return Texts(titles.tokens, starts[long_enough], lengths[long_enough])


def distinct(texts: Texts) -> np.ndarray:
    """(m,) positions, ascending, of the first of each group of texts with the same tokens."""
    keys = fingerprints(texts)
    order = np.lexsort((keys, texts.lengths))  # stable: equal texts stay in the order in which they came
    same_key = keys[order][1:] == keys[order][:-1]
    same_length = texts.lengths[order][1:] == texts.lengths[order][:-1]
    first = np.ones(len(texts), bool)
    first[1:] = ~(same_key & same_length)
    return np.sort(order[first])


def fingerprints(texts: Texts) -> np.ndarray:
    """(n,) Σ_j value(token j) · MULTIPLIER^(j + c) mod 2**64 over each text, j from 0, c the same for all texts.

    The values are random, one for each token of the vocabulary. A text's sum is a difference of two sums from the first
    token on, times the power that its place lacks.
    """
    n_tokens = len(texts.tokens)
    vocabulary = int(texts.tokens.max(initial=0)) + 1
    most = np.iinfo(np.uint64).max
    values = np.random.default_rng(0).integers(most, size=vocabulary, dtype=np.uint64, endpoint=True)
    powers = np.cumprod(np.full(n_tokens + 1, MULTIPLIER, np.uint64))
    sums = np.zeros(n_tokens + 1, np.uint64)
    np.cumsum(values[texts.tokens] * powers[:-1], out=sums[1:])
    ends = texts.starts + texts.lengths
    return (sums[ends] - sums[texts.starts]) * powers[n_tokens - texts.starts]


def objects_for(rows: int) -> int:
    """How many objects are split into two sides of so many rows."""
    return round(rows * 2 / (1 + OVERLAP))


def draw(texts: Texts, rows: int) -> Texts:
    """The objects of two sides of so many rows, in random order; all texts where there are fewer."""
    return texts.take(np.random.default_rng(0).permutation(len(texts))[: objects_for(rows)])


def first_objects(a: np.ndarray, b: np.ndarray, cut: Split, count: int) -> tuple[np.ndarray, np.ndarray, Split]:
    """What the sides hold of the first `count` objects."""
    held_a = np.flatnonzero(cut.rows_a < count)
    held_b = np.flatnonzero(cut.rows_b < count)
    shared = cut.truth[cut.rows_a[cut.truth[:, 0]] < count]
    truth = np.column_stack([np.searchsorted(held_a, shared[:, 0]), np.searchsorted(held_b, shared[:, 1])])
    return a[held_a], b[held_b], Split(cut.rows_a[held_a], cut.rows_b[held_b], truth)


def embed(texts: Texts, encoder: Encoder, stage: Path, device: str) -> tuple[np.ndarray, float]:
    """(n, dimension) float16 vectors in host memory, and the seconds with the loading of the model."""
    began = time.perf_counter()
    vectors = vectors_of(texts, encoder, load(stage / encoder.name, device), device).cpu().numpy()
    if device == "cuda":
        torch.cuda.empty_cache()
    return vectors, round(time.perf_counter() - began, 1)


def load(folder: Path, device: str) -> Any:
    """The model in a folder: float16 on a GPU, float32 on the CPU."""
    transformers: Any = needed("transformers", "Embedding the texts", "sentence-transformers")
    safetensors: Any = needed("safetensors.torch", "Embedding the texts")
    config = transformers.BertConfig.from_json_file(folder / "config.json")
    model = transformers.BertModel(config, add_pooling_layer=False)
    weights = {}
    for file in sorted(folder.glob("*.safetensors")):
        weights.update(safetensors.load_file(file))
    model.load_state_dict(weights)
    if device == "cuda":
        model = model.half()
    return model.to(device).eval()


@torch.inference_mode()
def vectors_of(texts: Texts, encoder: Encoder, model: Any, device: str) -> torch.Tensor:
    """(n, dimension) float16 on the device: the layers' mean hidden states of unit length, side by side, cut."""
    tokens = torch.from_numpy(texts.tokens.astype(np.int64)).to(device)
    by_length = np.argsort(texts.lengths, kind="stable")
    vectors = torch.empty((len(texts), encoder.dimension), dtype=torch.float16, device=device)
    for first in range(0, len(texts), BATCH):
        rows = by_length[first : first + BATCH]
        ids, mask = padded(tokens, texts.take(rows), encoder.prefix)
        hidden = model(input_ids=ids, attention_mask=mask, output_hidden_states=True).hidden_states
        sums = [(hidden[layer].float() * mask[..., None]).sum(1) for layer in encoder.layers]
        # The mean has the direction of the sum.
        side_by_side = torch.cat([torch.nn.functional.normalize(total, dim=1) for total in sums], dim=1)
        vectors[torch.from_numpy(rows).to(device)] = side_by_side[:, : encoder.dimension].half()
    return vectors


def padded(tokens: torch.Tensor, texts: Texts, prefix: tuple[int, ...]) -> tuple[torch.Tensor, torch.Tensor]:
    """(n, width) ids of CLS, prefix, text, SEP, and where they stand; `tokens` are those of the texts on the device."""
    device = tokens.device
    head = torch.tensor([CLS, *prefix], device=device)
    starts = torch.from_numpy(texts.starts).to(device)[:, None]
    lengths = torch.from_numpy(texts.lengths).to(device)[:, None]
    longest = int(texts.lengths.max())
    ids = torch.full((len(texts), len(head) + longest + 1), PAD, device=device)
    column = torch.arange(ids.shape[1], device=device)
    place = starts + column[:longest]
    text = tokens[place.clamp(max=len(tokens) - 1)]
    ids[:, : len(head)] = head
    ids[:, len(head) : -1] = torch.where(column[:longest] < lengths, text, PAD)
    ids.scatter_(1, len(head) + lengths, SEP)
    return ids, column <= len(head) + lengths
