"""The questions that tables and figures ask, each answered by closed forms over the specs of an edition.

A method of :class:`Study` is the one place where facts are bound to the symbols of a form. Every answer is a
:class:`~kvwall.evidence.quantity.Quantity`, so it carries its lineage wherever it is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kvwall.evidence.forms import Forms
from kvwall.evidence.quantity import EvidenceError, Quantity, assumed, constant, defined, quality, reported
from kvwall.specs import Catalogue, load
from kvwall.specs.schema import Edition, FullAttention, Hardware, Link, Method, Model, Workload
from kvwall.specs.values import Choice, Datum


class Study:
    """An edition's specs together with the closed forms."""

    def __init__(self, edition: Edition, catalogue: Catalogue, forms: Forms) -> None:
        self.edition, self.catalogue, self.forms = edition, catalogue, forms

    @classmethod
    def open(cls, edition: str, forms: str, specs: Iterable[str]) -> Study:
        """Read the edition and exactly the given spec files; raises SpecErrors with every fault."""
        catalogue = load([edition, *specs])
        return cls(next(iter(catalogue.editions.values())), catalogue, Forms.read(forms))

    # --- specs of the edition, in its order -------------------------------------------------------------------------

    def models(self) -> list[Model]:
        return [self.catalogue.models[name] for name in self.edition.models]

    def crossover_models(self) -> list[Model]:
        return [self.catalogue.models[name] for name in self.edition.crossover_models]

    def hardware(self) -> list[Hardware]:
        return [self.catalogue.hardware[name] for name in self.edition.hardware]

    def methods(self) -> list[Method]:
        return [self.catalogue.methods[name] for name in self.edition.methods]

    def matrix_methods(self) -> list[Method]:
        """The rows of table 7; the edition's other methods stand in figures only."""
        return [self.catalogue.methods[name] for name in self.edition.matrix_methods]

    def workloads(self) -> list[Workload]:
        return [self.catalogue.workloads[name] for name in self.edition.workloads]

    @property
    def model(self) -> Model:
        """The model that the edition studies (Llama-3-70B in the paper)."""
        return self.catalogue.models[self.edition.study_model]

    @property
    def device(self) -> Hardware:
        """The device that the edition studies (B200 in the paper)."""
        return self.catalogue.hardware[self.edition.study_hardware]

    @property
    def sharing_workload(self) -> Workload:
        """The first workload whose requests share a prefix (W3 in the paper)."""
        return next(workload for workload in self.workloads() if workload.shared_prefix)

    def link(self, name: str) -> Link:
        return self.catalogue.links[name]

    # --- leaves -----------------------------------------------------------------------------------------------------

    def fact(self, datum: Datum) -> Quantity:
        """A datum of a spec as a reported quantity."""
        return reported(datum, self.catalogue.source_of(datum))

    def quality(self, datum: Datum) -> Quantity:
        """A reported quality: shown, never computed with."""
        return quality(datum, self.catalogue.source_of(datum))

    def assumption(self, name: str) -> Quantity:
        """The value of a named assumption."""
        return assumed(self.catalogue.assumptions[name])

    def points(self, choices: Sequence[Choice], name: str) -> list[Quantity]:
        """The chosen points of a sweep, as defined quantities."""
        return [defined(choice, name) for choice in choices]

    def batches(self) -> list[Quantity]:
        return self.points(self.edition.sweeps.table_batches, "batch size")

    def contexts(self) -> list[Quantity]:
        return self.points(self.edition.sweeps.table_contexts, "context length")

    @staticmethod
    def context_label(s: Quantity) -> str:
        """``128k`` for 128,000 tokens."""
        return f"{int(s.value / 1000)}k"

    def widths(self) -> list[Quantity]:
        return self.points(self.edition.sweeps.widths, "stored width of a cache element")

    def compressions(self) -> list[Quantity]:
        return self.points(self.edition.sweeps.compressions, "compression factor")

    def device_counts(self) -> list[Quantity]:
        return self.points(self.edition.sweeps.device_counts, "number of devices")

    @property
    def one_sequence(self) -> Quantity:
        """Batch size one, by definition the first batch of every edition's sweep."""
        first = self.batches()[0]
        if first.value != 1:
            raise EvidenceError("the first table batch of an edition must be 1")
        return first

    @property
    def one_device(self) -> Quantity:
        """One device, by definition the first device count of every edition's sweep."""
        first = self.device_counts()[0]
        if first.value != 1:
            raise EvidenceError("the first device count of an edition must be 1")
        return first

    @property
    def cache_width(self) -> Quantity:
        return defined(self.edition.precision.cache_width, "stored width of a cache element")

    @property
    def weight_width(self) -> Quantity:
        return defined(self.edition.precision.weight_width, "stored width of a weight")

    # --- footprint (sections 2.1, 2.2) ------------------------------------------------------------------------------

    def bytes_per_token(self, model: Model, width: Quantity | None = None) -> Quantity:
        """KV bytes per token [byte/token], summed over the model's layer groups."""
        parts = [self._group_bytes(group, width or self.cache_width) for group in model.groups]
        total = parts[0]
        for part in parts[1:]:
            total = self.forms.evaluate("sum_of_groups", kappa=total, kappa_g=part)
        return total

    def _group_bytes(self, group, width: Quantity) -> Quantity:
        if isinstance(group, FullAttention):
            return self.forms.evaluate(
                "kv_bytes_per_token",
                L=self.fact(group.layers),
                n_kv=self.fact(group.kv_heads),
                d_h=self.fact(group.head_dim),
                w_kv=width,
            )
        return self.forms.evaluate(
            "kv_bytes_per_token_mla",
            L=self.fact(group.layers),
            d_c=self.fact(group.latent_dim),
            d_r=self.fact(group.rope_dim),
            w_kv=width,
        )

    def weight_bytes(self, model: Model) -> Quantity:
        """Bytes of the weights [byte], from the nominal parameter count as the paper does."""
        return self.forms.evaluate("weight_bytes", P=self.fact(model.parameters.nominal), w_p=self.weight_width)

    def kv_bytes(self, model: Model, b: Quantity, s: Quantity, width: Quantity | None = None) -> Quantity:
        """KV bytes read in one step by ``b`` sequences of context ``s`` [byte]."""
        return self.forms.evaluate("kv_footprint", b=b, s=s, kappa=self.bytes_per_token(model, width))

    def step_bytes(self, model: Model, b: Quantity, s: Quantity, width: Quantity | None = None) -> Quantity:
        """Bytes of one decode step [byte]: weights once, the cache once a sequence."""
        kappa = self.bytes_per_token(model, width)
        return self.forms.evaluate("step_bytes", W=self.weight_bytes(model), b=b, s=s, kappa=kappa)

    # --- crossovers (3.4) -------------------------------------------------------------------------------------------

    def traffic_crossover(self, model: Model, b: Quantity) -> Quantity:
        """Context at which the cache's traffic equals the weights' [token]."""
        kappa = self.bytes_per_token(model)
        return self.forms.evaluate("traffic_crossover", W=self.weight_bytes(model), b=b, kappa=kappa)

    def capacity_crossover(self, model: Model, device: Hardware, b: Quantity, n: Quantity | None = None) -> Quantity:
        """Context at which ``n`` devices are full [token]; negative if the weights alone do not fit."""
        return self.forms.evaluate(
            "capacity_crossover",
            C=self.fact(device.hbm_capacity),
            n_dev=n or self.one_device,
            W=self.weight_bytes(model),
            b=b,
            kappa=self.bytes_per_token(model),
        )

    def kv_regime_devices(self, model: Model, device: Hardware) -> Quantity:
        """Fewest devices on which some context is KV-bound, that is s* < s_cap."""
        capacity = self.fact(device.hbm_capacity)
        return self.forms.evaluate(
            "kv_regime_min_devices", "sharded-evenly", C=capacity, W=self.weight_bytes(model)
        )

    # --- rooflines and placement (3.1 to 3.3) -----------------------------------------------------------------------

    def ridge_point(self, device: Hardware) -> Quantity:
        """Intensity at which the device turns from memory-bound to compute-bound [flop/byte]."""
        return self.forms.evaluate(
            "ridge_point", pi_peak=self.fact(device.bf16_dense), beta=self.fact(device.hbm_bandwidth)
        )

    def partition_bandwidth(self, device: Hardware) -> Quantity:
        """Bandwidth of one die or stack [byte/second]: what pinned pages get."""
        return self.forms.evaluate(
            "partition_bandwidth", beta=self.fact(device.hbm_bandwidth), n_part=self.fact(device.partition.count)
        )

    def striped_bandwidth(self, device: Hardware) -> Quantity:
        """Bandwidth of striped pages [byte/second].

        Where the die-to-die link is disclosed it may limit; where it is not, the aggregate is an upper bound, which
        the ledger says as an assumption. A single partition has nothing to stripe.
        """
        aggregate = self.fact(device.hbm_bandwidth)
        if device.die_to_die_status == "disclosed":
            return self.forms.evaluate(
                "striped_bandwidth",
                beta=aggregate,
                n_part=self.fact(device.partition.count),
                beta_link=self.fact(self.link(device.die_to_die).bandwidth),
            )
        assumptions = ("striped-mi300x",) if device.die_to_die_status == "undisclosed" else ()
        return self.forms.evaluate("aggregate_bandwidth", *assumptions, beta=aggregate)

    def token_rate_ceiling(self, model: Model, bandwidth: Quantity) -> Quantity:
        """Most tokens of cache that a device can read in a second [token/second]."""
        return self.forms.evaluate("token_rate_ceiling", beta_eff=bandwidth, kappa=self.bytes_per_token(model))

    def intensity(self, model: Model, b: Quantity, s: Quantity, width: Quantity | None = None) -> Quantity:
        """Arithmetic intensity of a decode step [flop/byte]; for models with one full-attention group."""
        return self.forms.evaluate(
            "intensity", F_step=self.step_flops(model, b, s), B_step=self.step_bytes(model, b, s, width)
        )

    def step_flops(self, model: Model, b: Quantity, s: Quantity) -> Quantity:
        """FLOPs of one decode step [flop]; for models with one full-attention group."""
        group = self._single_full_group(model)
        return self.forms.evaluate(
            "step_flops",
            P=self.fact(model.parameters.nominal),
            L=self.fact(group.layers),
            n_q=self.fact(group.query_heads),
            d_h=self.fact(group.head_dim),
            b=b,
            s=s,
        )

    def intensity_limit(self, model: Model) -> Quantity:
        """Intensity at long context [flop/byte], whatever the batch; for models with one full-attention group."""
        group = self._single_full_group(model)
        g = self.forms.evaluate("gqa_saving", n_q=self.fact(group.query_heads), n_kv=self.fact(group.kv_heads))
        return self.forms.evaluate("intensity_long_limit", g=g, w_kv=self.cache_width)

    def attained_rate(self, model: Model, b: Quantity, s: Quantity, bandwidth: Quantity) -> Quantity:
        """Most FLOP/s that a memory-bound decode step attains [flop/second]."""
        time = self.memory_step_time(self.step_bytes(model, b, s), bandwidth)
        return self.forms.evaluate("attained_rate", F_step=self.step_flops(model, b, s), T_step=time)

    def memory_step_time(self, step: Quantity, bandwidth: Quantity) -> Quantity:
        """Least time of a step that moves ``step`` bytes [second]."""
        return self.forms.evaluate("memory_step_time", "ideal-kernel", B_step=step, beta_eff=bandwidth)

    def devices_needed(self, model: Model, device: Hardware, kv: Quantity) -> Quantity:
        """Fewest devices that hold the weights and ``kv`` bytes of cache."""
        capacity = self.fact(device.hbm_capacity)
        return self.forms.evaluate("devices_needed", "sharded-evenly", W=self.weight_bytes(model), K=kv, C=capacity)

    # --- speedup (3.5) and tiering (2.5, 4.5) -----------------------------------------------------------------------

    def speedup(self, model: Model, b: Quantity, s: Quantity, c: Quantity) -> Quantity:
        """Decode speedup when the cache's bytes are divided by ``c``."""
        return self.forms.evaluate(
            "speedup", "ideal-kernel", W=self.weight_bytes(model), K=self.kv_bytes(model, b, s), c=c
        )

    def prefill_time(self, model: Model, device: Hardware, s: Quantity) -> Quantity:
        """Time to recompute a cache of ``s`` tokens [second]; for models with one full-attention group."""
        group = self._single_full_group(model)
        flops = self.forms.evaluate(
            "prefill_flops",
            "causal-leading-order",
            P=self.fact(model.parameters.nominal),
            L=self.fact(group.layers),
            n_q=self.fact(group.query_heads),
            d_h=self.fact(group.head_dim),
            s=s,
        )
        peak = self.fact(device.bf16_dense)
        return self.forms.evaluate("prefill_time", F_prefill=flops, pi_peak=peak, u=self.assumption("prefill-utilisation"))

    def fetch_time(self, kv: Quantity, link: Link, codec: Quantity) -> Quantity:
        """Time to bring ``kv`` bytes over a link after a codec has divided them by ``codec`` [second]."""
        return self.forms.evaluate("fetch_time", K=kv, c_codec=codec, beta_link=self.fact(link.bandwidth))

    def ratio(self, above: Quantity, below: Quantity) -> Quantity:
        """Quotient of two quantities of the same dimension."""
        return self.forms.evaluate("ratio", x=above, y=below)

    # --- methods (2.2, table 7) -------------------------------------------------------------------------------------

    def sharing_factor(self, workload: Workload) -> Quantity:
        """Sharing factor sigma of a workload whose requests share a prefix."""
        shared = self.assumption(workload.shared_prefix)
        own = self.forms.evaluate("own_context", s=self.fact(workload.context), s_shared=shared)
        requests = self.fact(workload.requests)
        return self.forms.evaluate("sharing_factor", n_req=requests, s_shared=shared, s_own=own)

    def nominal_factor(self, method: Method, workload: Workload | None = None) -> Quantity:
        """Factor by which stored bytes fall, from the nominal width, retention and sharing alone."""
        return self._factor(method, self._width(method), workload)

    def true_factor(self, method: Method, s: Quantity, workload: Workload | None = None) -> Quantity:
        """The same factor with the method's own metadata, at context ``s``."""
        return self._factor(method, self.stored_width(method, s), workload)

    def stored_width(self, method: Method, s: Quantity) -> Quantity:
        """Bytes an element really takes: codes, scales and zero points, outliers, residual window [byte/element]."""
        width = self._width(method)
        if method.scales:
            width = self.forms.evaluate(
                "grouped_bytes_per_element",
                n_bits=width,
                w_scale=self.fact(method.scales.scale),
                w_zero=self.fact(method.scales.zero_point),
                G=self.fact(method.scales.group),
            )
        if method.outliers:
            width = self.forms.evaluate(
                "outlier_bytes_per_element",
                n_bits=width,
                o=self.fact(method.outliers.fraction),
                w_val=self.fact(method.outliers.value_width),
                w_idx=self.fact(method.outliers.index_width),
            )
        if method.residual_window:
            width = self.forms.evaluate(
                "residual_bytes_per_element",
                w_q=width,
                w_kv=self.cache_width,
                R=self.fact(method.residual_window),
                s=s,
            )
        return width

    def stored_factor(self, method: Method, s: Quantity, workload: Workload | None = None) -> Quantity:
        """The true factor in stored bytes: paging's waste is stored, but never read."""
        factor = self.true_factor(method, s, workload)
        if method.block:
            factor = self.forms.evaluate("factor_with_waste", c=factor, phi=self.paging_waste(method, s))
        return factor

    def with_sharing(self, factor: Quantity, workload: Workload, *assumptions: str) -> Quantity:
        """A capacity factor together with the sharing of a workload's prefix."""
        sigma = self.sharing_factor(workload)
        return self.forms.evaluate("factor_with_sharing", *assumptions, c=factor, sigma=sigma)

    def width_factor(self, width: Quantity) -> Quantity:
        """Compression factor of a stored width alone."""
        return self.forms.evaluate("compression_ratio", w_kv=self.cache_width, w_q=width)

    def request_bytes(self, model: Model, workload: Workload) -> Quantity:
        """Bytes that a workload's requests store when each keeps its whole context [byte]."""
        return self.forms.evaluate(
            "stored_bytes_requests",
            n_req=self.fact(workload.requests),
            s=self.fact(workload.context),
            kappa=self.bytes_per_token(model),
        )

    def compressed(self, kv: Quantity, factor: Quantity) -> Quantity:
        """Cache bytes at a compression factor [byte]."""
        return self.forms.evaluate("factor_footprint", K=kv, c=factor)

    def paging_waste(self, method: Method, s: Quantity) -> Quantity:
        """Expected share of a sequence's cache that its last block leaves unused."""
        return self.forms.evaluate("paging_waste", "uniform-last-block", n_block=self.fact(method.block), s=s)

    def stored_footprint(self, model: Model, method: Method, s: Quantity, workload: Workload | None = None) -> Quantity:
        """Bytes that a method stores for one request by the unified footprint [byte], with its own metadata."""
        group = self._single_full_group(model)
        return self.forms.evaluate(
            "unified_footprint",
            L=self.fact(group.layers),
            n_kv=self.fact(group.kv_heads),
            d_h=self.fact(group.head_dim),
            s=s,
            w_q=self.stored_width(method, s),
            r=self._retention(method),
            phi=self.paging_waste(method, s) if method.block else _neutral(0, "phi: no waste"),
            sigma=self.sharing_factor(workload) if method.shares_prefix and workload else _neutral(1, "sigma: alone"),
        )

    def read_footprint(self, model: Model, method: Method, s: Quantity) -> Quantity:
        """Cache bytes that a step reads for one request under a method [byte]; sharing and paging change no read."""
        factor = self.forms.evaluate(
            "read_factor", w_kv=self.cache_width, w_q=self.stored_width(method, s), r=self._retention(method)
        )
        return self.forms.evaluate("factor_footprint", K=self.kv_bytes(model, self.one_sequence, s), c=factor)

    def _retention(self, method: Method) -> Quantity:
        return self.fact(method.retention) if method.retention else _neutral(1, "r: every token is kept")

    def _width(self, method: Method) -> Quantity:
        return self.fact(method.width) if method.width else self.cache_width

    def _factor(self, method: Method, width: Quantity, workload: Workload | None) -> Quantity:
        factor = self.forms.evaluate("compression_ratio", w_kv=self.cache_width, w_q=width)
        if method.retention:
            factor = self.forms.evaluate("factor_with_eviction", c=factor, r=self.fact(method.retention))
        if method.shares_prefix and workload is not None:
            factor = self.forms.evaluate("factor_with_sharing", c=factor, sigma=self.sharing_factor(workload))
        return factor

    # --- accounting (table 8) ---------------------------------------------------------------------------------------

    def accounted(self, form: str, model: Model, s: Quantity) -> Quantity:
        """A form of the accounting, for models with one full-attention group; P is the exact parameter count."""
        group = self._single_full_group(model)
        facts = {
            "P": model.parameters.exact,
            "L": group.layers,
            "n_q": group.query_heads,
            "n_kv": group.kv_heads,
            "d_h": group.head_dim,
            "d": model.hidden_size,
            "d_ff": model.ffn_size,
            "n_vocab": model.vocabulary,
        }
        chosen = {"s": s, "w_kv": self.cache_width}
        inputs = {}
        for name in self.forms[form].inputs:
            if name == "c_sm":
                inputs[name] = self.assumption("softmax-operations")
            else:
                inputs[name] = self.fact(facts[name]) if name in facts else chosen[name]
        return self.forms.evaluate(form, **inputs)

    def symbolic(self, form: str) -> str:
        """A form's expression as a label, such as ``2·d·n_q·d_h``."""
        return str(self.forms[form].expr).replace("**", "^").replace("*", "·")

    def _single_full_group(self, model: Model) -> FullAttention:
        if len(model.groups) != 1 or not isinstance(model.groups[0], FullAttention):
            raise EvidenceError(f"{model.id}: this form needs a model with one full-attention group")
        return model.groups[0]


def _neutral(value: int, name: str) -> Quantity:
    """The value at which a factor of the unified footprint changes nothing, by its definition (section 2.2)."""
    return constant(value, "", name, "src/kvwall/notation.py")


__all__ = ["Study", "constant"]
