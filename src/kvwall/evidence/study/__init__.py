"""The questions that tables and figures ask, each answered by closed forms over the specs of an edition.

A method of :class:`Study` is the one place where facts are bound to the symbols of a form. Every answer is a
:class:`~kvwall.evidence.quantity.Quantity`, so it carries its lineage wherever it is shown.
"""

from __future__ import annotations

from kvwall.evidence.quantity import Quantity
from kvwall.evidence.study.methods import Methods
from kvwall.specs.schema import Model


class Study(Methods):
    """Everything that can be asked of an edition; the operations of Table 8 are asked here."""

    def accounted(self, form: str, model: Model, s: Quantity) -> Quantity:
        """A form of the accounting, for models with one full-attention group; P is the exact parameter count."""
        group = self.single_full_group(model)
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
