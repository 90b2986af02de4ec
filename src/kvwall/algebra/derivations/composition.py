"""Steps between forms: layer groups, placement without a link, methods that act together (sections 2.2, 3.3, 4.6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sympy as sp

from kvwall.algebra.accounting import Op
from kvwall.algebra.closed_form import ClosedForm, Derivation
from kvwall.algebra.symbols import symbols

kappa, kappa_g, beta, K, c, r, sigma, phi, s, s_shared = symbols("kappa kappa_g beta K c r sigma phi s s_shared")
F_step, T_step = symbols("F_step T_step")


def derive(ops: Sequence[Op], known: Mapping[str, ClosedForm]) -> list[ClosedForm]:
    return [_groups(), _aggregate(), _eviction(known), _sharing(known), _waste(known), _own_context(), _attained_rate()]


def _groups() -> ClosedForm:
    d = Derivation("sum_of_groups", "KV bytes per token over layer groups", "2.1", r"\kappa'", "byte/token")
    return d.close(d.step("A further group of layers adds its bytes.", r"\kappa'", kappa + kappa_g))


def _aggregate() -> ClosedForm:
    d = Derivation("aggregate_bandwidth", "Bandwidth of a whole package", "3.3", r"\beta_{eff}", "byte/second")
    return d.close(
        d.step("Nothing between the partitions limits: the aggregate.", r"\beta_{eff}", beta),
        conditions=("An upper bound where the fabric between the partitions is not disclosed.",),
    )


def _eviction(known: Mapping[str, ClosedForm]) -> ClosedForm:
    d = Derivation("factor_with_eviction", "Compression factor with eviction", "4.6", "c_r", "")
    kept = d.step(
        "Bytes after the first method, of the retained tokens only.", "K'", known["factor_footprint"].expr * r
    )
    return d.close(d.step("Against the whole cache.", "c_r", sp.cancel(K / kept)))


def _sharing(known: Mapping[str, ClosedForm]) -> ClosedForm:
    d = Derivation("factor_with_sharing", "Capacity factor with prefix sharing", "4.6", r"c_{\sigma}", "")
    kept = d.step(
        "Stored bytes of all requests, divided by the sharing factor.",
        "K'",
        known["factor_footprint"].expr / sigma,
    )
    return d.close(d.step("Against the whole cache.", r"c_{\sigma}", sp.cancel(K / kept)))


def _waste(known: Mapping[str, ClosedForm]) -> ClosedForm:
    d = Derivation("factor_with_waste", "Capacity factor with paging waste", "2.2", r"c_{\varphi}", "")
    allocated = d.step("Allocated bytes, with the waste of paging.", "K'", known["factor_footprint"].expr * (1 + phi))
    return d.close(d.step("Against the whole cache.", r"c_{\varphi}", sp.cancel(K / allocated)))


def _own_context() -> ClosedForm:
    d = Derivation("own_context", "Context of a request beyond the shared prefix", "4.4", "s_{own}", "token")
    return d.close(d.step("The context without its shared part.", "s_{own}", s - s_shared))


def _attained_rate() -> ClosedForm:
    d = Derivation("attained_rate", "Rate that a decode step attains", "3.2", r"\pi_{att}", "flop/second")
    return d.close(d.step("Operations of the step over its time.", r"\pi_{att}", F_step / T_step))
