"""Footprint and traffic of the cache (sections 2.1, 2.2 and 3.1)."""

from __future__ import annotations

from kvwall.evidence.quantity import Quantity
from kvwall.evidence.study.selection import Selection
from kvwall.specs.schema import FullAttention, Model


class Footprint(Selection):
    """Bytes of weights and cache."""

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
