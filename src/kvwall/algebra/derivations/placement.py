"""Devices: ridge point, placement of pages over memory partitions, ceilings (section 3.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sympy as sp

from kvwall.algebra.accounting import Op
from kvwall.algebra.closed_form import ClosedForm, Derivation
from kvwall.algebra.symbols import symbols

beta, beta_eff, beta_link, pi_peak, n_part, kappa = symbols("beta beta_eff beta_link pi_peak n_part kappa")
C, W, K, n_dev, B_step, F_step, x, y = symbols("C W K n_dev B_step F_step x y")


def derive(ops: Sequence[Op], known: Mapping[str, ClosedForm]) -> list[ClosedForm]:
    partition = _partition()
    striped = _striped(partition)
    return [
        _ridge(),
        partition,
        striped,
        _pinned_loss(partition, striped),
        _ceiling(),
        *_capacity(),
        *_ratios(),
    ]


def _ridge() -> ClosedForm:
    d = Derivation("ridge_point", "Ridge point", "3.2", "I_{ridge}", "flop/byte")
    by_bytes, by_flops = B_step / beta, F_step / pi_peak
    operations = d.step(
        "Operations at which both bounds of the step time are equal.",
        "F",
        sp.solve(sp.Eq(by_bytes, by_flops), F_step)[0],
    )
    return d.close(d.step("As an intensity.", "I_{ridge}", operations / B_step))


def _partition() -> ClosedForm:
    d = Derivation(
        "partition_bandwidth",
        "Bandwidth of one memory partition (pinned pages)",
        "3.3",
        r"\beta_{pinned}",
        "byte/second",
    )
    return d.close(
        d.step("A pinned page is served by its own partition.", r"\beta_{pinned}", beta / n_part),
        assumptions=("The partitions are equal.",),
    )


def _striped(partition: ClosedForm) -> ClosedForm:
    d = Derivation("striped_bandwidth", "Bandwidth of striped pages", "3.3", r"\beta_{striped}", "byte/second")
    share = d.step(
        "A partition delivers no more than it has, nor more than the link to it carries.",
        r"\beta_{share}",
        sp.Min(partition.general, beta_link),
    )
    return d.close(
        d.step("All partitions serve a striped page together.", r"\beta_{striped}", n_part * share),
        conditions=("Recovers the aggregate where beta_link >= beta / n_part.",),
    )


def _pinned_loss(partition: ClosedForm, striped: ClosedForm) -> ClosedForm:
    d = Derivation("pinned_loss", "Loss of pinned against striped pages", "3.3", r"\beta_{striped}/\beta_{pinned}", "")
    fast = striped.general.subs(sp.Min(partition.general, beta_link), partition.general)
    recovered = d.step(
        "Where the link is faster than a partition, striping recovers the aggregate.",
        r"\beta_{striped}",
        fast,
    )
    return d.close(
        d.step("Against one partition.", r"\beta_{striped}/\beta_{pinned}", recovered / partition.general),
        conditions=("beta_link >= beta / n_part; an upper bound where the link is not disclosed.",),
    )


def _ceiling() -> ClosedForm:
    d = Derivation(
        "token_rate_ceiling",
        "Ceiling of the token rate: cached tokens read per second",
        "3.3",
        r"R_{\infty}",
        "token/second",
    )
    tokens, seconds = symbols("s T_step")
    read = d.step("At long context a step only reads the cache.", r"T_{step}", tokens * kappa / beta_eff)
    reached = d.step("Tokens that pass in this time.", "s", sp.solve(sp.Eq(seconds, read), tokens)[0])
    return d.close(d.step("Per second.", r"R_{\infty}", reached / seconds))


def _capacity() -> list[ClosedForm]:
    d = Derivation("devices_needed", "Devices that hold weights and cache", "3.4", "n_{min}", "")
    resident = d.step("Bytes that must reside in memory.", "B", W + K)
    needed = d.close(
        d.step("In whole devices.", "n_{min}", sp.ceiling(resident / C)),
        assumptions=("All of the capacity is usable; activations and workspace are not counted.",),
    )
    d = Derivation("capacity_left", "Capacity left beside weights and cache", "3.4", r"\Delta C", "byte")
    left = d.close(d.step("What n devices have less what is resident.", r"\Delta C", n_dev * C - resident))
    d = Derivation("kv_capacity", "Capacity left for the cache", "3.4", "C_{kv}", "byte")
    room = d.close(d.step("What n devices have less the weights.", "C_{kv}", n_dev * C - W))
    return [needed, left, room]


def _ratios() -> list[ClosedForm]:
    d = Derivation("bandwidth_ratio", "Memory bandwidth against a link", "2.5", r"\beta/\beta_{link}", "")
    links = d.close(d.step("By definition.", r"\beta/\beta_{link}", beta / beta_link))
    d = Derivation("ratio", "Ratio of two like quantities", "", "x/y", "")
    return [links, d.close(d.step("By definition; both are taken in the same unit.", "x/y", x / y))]
