"""The one list of symbols: name, LaTeX, meaning and unit (sections 1 and 2.2 of the paper).

No SymPy here, so that the spec loader can check names and units without importing it. Every symbol stands for
a positive real number; counts are marked ``integer``. ``phi``, ``o``, ``R`` and ``w_zero`` may be zero when
values are put in.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Notation:
    """One symbol. ``unit`` is a text for :mod:`kvwall.units`; ``""`` is a pure number."""

    name: str
    latex: str
    meaning: str
    unit: str
    integer: bool = False


_SYMBOLS = (
    # Model
    Notation("P", "P", "parameters of the model", "element"),
    Notation("L", "L", "layers", "layer", integer=True),
    Notation("n_q", "n_q", "query heads of a layer", "head", integer=True),
    Notation("n_kv", "n_{kv}", "key/value heads of a layer", "head", integer=True),
    Notation("g", "g", "query heads per key/value head, n_q / n_kv", ""),
    Notation("d_h", "d_h", "head dimension", "element", integer=True),
    Notation("d_c", "d_c", "MLA latent dimension of a layer", "element", integer=True),
    Notation("d_r", "d_r", "MLA rotary key dimension of a layer", "element", integer=True),
    Notation("d", "d", "hidden width", "", integer=True),
    Notation("d_ff", "d_{ff}", "width of the feed-forward block", "element", integer=True),
    Notation("n_vocab", "n_{voc}", "vocabulary size", "", integer=True),
    # Widths
    Notation("w_p", "w_p", "bytes per weight", "byte/element"),
    Notation("w_kv", "w_{kv}", "bytes per cached element", "byte/element"),
    Notation("w_q", "w_q", "stored bytes per cached element after quantisation", "byte/element"),
    Notation("n_bits", "n_{bits}", "width of a quantised code", "bit/element"),
    Notation("G", "G", "elements that share a scale (group size)", "element"),
    Notation("w_scale", "w_{scale}", "bytes of a group's scale", "byte"),
    Notation("w_zero", "w_{zero}", "bytes of a group's zero point", "byte"),
    Notation("o", "o", "fraction of elements kept as outliers", ""),
    Notation("w_val", "w_{val}", "bytes of an outlier's value", "byte/element"),
    Notation("w_idx", "w_{idx}", "bytes of an outlier's index", "byte/element"),
    # Workload
    Notation("s", "s", "context length", "token"),
    Notation("b", "b", "batch: sequences decoded together", "sequence", integer=True),
    Notation("n_req", "n_{req}", "requests that are stored", "sequence", integer=True),
    Notation("s_shared", "s_{shared}", "prefix that all requests share", "token"),
    Notation("s_own", "s_{own}", "context of a request beyond the shared prefix", "token"),
    Notation("n_gen", "T", "tokens generated", "", integer=True),
    # Methods
    Notation("c", "c", "KV compression factor", ""),
    Notation("r", "r", "retained fraction of the tokens, 0 < r <= 1", ""),
    Notation("sigma", r"\sigma", "sharing factor, at least 1", ""),
    Notation("phi", r"\varphi", "fragmentation waste, at least 0", ""),
    Notation("n_block", "n_{blk}", "page size", "token"),
    Notation("R", "R", "recent tokens kept at full width (residual window)", "token"),
    Notation("c_codec", "c_{codec}", "compression factor of a transport codec", ""),
    # Hardware
    Notation("beta", r"\beta", "memory bandwidth of the package", "byte/second"),
    Notation("beta_eff", r"\beta_{eff}", "bandwidth that one unit sees (striped or pinned)", "byte/second"),
    Notation("beta_link", r"\beta_{link}", "bandwidth of a link", "byte/second"),
    Notation("pi_peak", r"\pi", "peak dense BF16 rate", "flop/second"),
    Notation("C", "C", "memory capacity of a device", "byte"),
    Notation("n_dev", "n_{dev}", "devices", "device", integer=True),
    Notation("n_part", "n_{part}", "memory partitions of a package", "", integer=True),
    Notation("u", "u", "utilisation: attained share of the peak rate", ""),
    # Quantities that one form gives and another takes
    Notation("kappa", r"\kappa", "KV bytes per token", "byte/token"),
    Notation("kappa_g", r"\kappa_{g}", "KV bytes per token of one more group of layers", "byte/token"),
    Notation("W", "W", "weight bytes read in a step", "byte"),
    Notation("K", "K", "KV bytes read in a step", "byte"),
    Notation("B_step", "B", "bytes moved in a decode step", "byte"),
    Notation("F_step", "F", "operations of a decode step", "flop"),
    Notation("F_prefill", r"F_{prefill}", "operations of a prefill", "flop"),
    Notation("T_step", r"T_{step}", "time of a decode step", "second"),
    Notation("T_prefill", r"T_{prefill}", "time to recompute a prefix", "second"),
    Notation("T_fetch", r"T_{fetch}", "time to fetch a stored prefix", "second"),
    Notation("x", "x", "a quantity that is compared", ""),
    Notation("y", "y", "the quantity it is compared with", ""),
    Notation("c_sm", "c_{sm}", "softmax operations per score", "flop/token^2"),
    # Definitional constants
    Notation("f_mac", r"f_{mac}", "operations of one multiply-and-add", "flop/element/token"),
    Notation("m_kv", "m_{kv}", "cached vectors per token and KV head: a key and a value", "1/token"),
    Notation(
        "m_lat",
        "m_{lat}",
        "cached vectors per token and layer in MLA: a latent and its rotary key",
        "1/token",
    ),
    Notation("q", "q", "new tokens per sequence and step", "token"),
    Notation("e_w", "e_w", "one element per entry of an embedding matrix", "element"),
)

NOTATION: dict[str, Notation] = {symbol.name: symbol for symbol in _SYMBOLS}

# Values by definition, in base units. A form's `general` keeps the symbols, its `expr` has these numbers.
CONSTANTS: dict[str, Fraction] = {
    "f_mac": Fraction(2),
    "m_kv": Fraction(2),
    "m_lat": Fraction(1),
    "q": Fraction(1),
    "e_w": Fraction(1),
}
