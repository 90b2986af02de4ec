"""What methods do to the footprint, with their own metadata counted (section 2.2, Table 7)."""

from __future__ import annotations

from kvwall.evidence.quantity import Quantity, constant
from kvwall.evidence.study.decode import Decode
from kvwall.specs.schema import Method, Model, Workload


class Methods(Decode):
    """Factors and bytes of methods and workloads."""

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
        group = self.single_full_group(model)
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
        return self.compressed(self.kv_bytes(model, self.one_sequence, s), factor)

    def _retention(self, method: Method) -> Quantity:
        return self.fact(method.retention) if method.retention else _neutral(1, "r: every token is kept")

    def _width(self, method: Method) -> Quantity:
        return self.fact(method.width) if method.width else self.cache_width

    def _factor(self, method: Method, width: Quantity, workload: Workload | None) -> Quantity:
        factor = self.width_factor(width)
        if method.retention:
            factor = self.forms.evaluate("factor_with_eviction", c=factor, r=self.fact(method.retention))
        if method.shares_prefix and workload is not None:
            factor = self.with_sharing(factor, workload)
        return factor


def _neutral(value: int, name: str) -> Quantity:
    """The value at which a factor of the unified footprint changes nothing, by its definition (section 2.2)."""
    return constant(value, "", name, "src/kvwall/notation.py")
