"""Decode steps: crossovers, rooflines, placement, speedup and tiering (sections 2.5, 3 and 4.5)."""

from __future__ import annotations

from kvwall.evidence.quantity import Quantity
from kvwall.evidence.study.footprint import Footprint
from kvwall.specs.schema import Hardware, Link, Model


class Decode(Footprint):
    """Times, rates and crossovers of a decode step, and of bringing a cache back."""

    def traffic_crossover(self, model: Model, b: Quantity) -> Quantity:
        """Context at which the cache's traffic equals the weights' [token]."""
        kappa = self.bytes_per_token(model)
        return self.forms.evaluate("traffic_crossover", W=self.weight_bytes(model), b=b, kappa=kappa)

    def capacity_crossover(self, model: Model, device: Hardware, b: Quantity, n: Quantity | None = None) -> Quantity:
        """Context at which ``n`` devices are full [token]; negative if the weights alone do not fit."""
        return self.forms.evaluate(
            "capacity_crossover",
            *(["sharded-evenly"] if n else []),
            C=self.fact(device.hbm_capacity),
            n_dev=n or self.one_device,
            W=self.weight_bytes(model),
            b=b,
            kappa=self.bytes_per_token(model),
        )

    def kv_regime_devices(self, model: Model, device: Hardware) -> Quantity:
        """Fewest devices on which some context is KV-bound, that is s* < s_cap."""
        capacity = self.fact(device.hbm_capacity)
        return self.forms.evaluate("kv_regime_min_devices", "sharded-evenly", C=capacity, W=self.weight_bytes(model))

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
        group = self.single_full_group(model)
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
        group = self.single_full_group(model)
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

    def speedup(self, model: Model, b: Quantity, s: Quantity, c: Quantity) -> Quantity:
        """Decode speedup when the cache's bytes are divided by ``c``."""
        return self.forms.evaluate(
            "speedup", "ideal-kernel", W=self.weight_bytes(model), K=self.kv_bytes(model, b, s), c=c
        )

    def prefill_time(self, model: Model, device: Hardware, s: Quantity) -> Quantity:
        """Time to recompute a cache of ``s`` tokens [second]; for models with one full-attention group."""
        group = self.single_full_group(model)
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
        utilisation = self.assumption("prefill-utilisation")
        return self.forms.evaluate("prefill_time", F_prefill=flops, pi_peak=peak, u=utilisation)

    def fetch_time(self, kv: Quantity, link: Link, codec: Quantity) -> Quantity:
        """Time to bring ``kv`` bytes over a link after a codec has divided them by ``codec`` [second]."""
        return self.forms.evaluate("fetch_time", K=kv, c_codec=codec, beta_link=self.fact(link.bandwidth))

    def link_gap(self, device: Hardware, link: Link) -> Quantity:
        """How many times slower than a device's memory a link is."""
        beta = self.fact(device.hbm_bandwidth)
        return self.forms.evaluate("bandwidth_ratio", beta=beta, beta_link=self.fact(link.bandwidth))

    def ratio(self, above: Quantity, below: Quantity) -> Quantity:
        """Quotient of two quantities of the same dimension."""
        return self.forms.evaluate("ratio", x=above, y=below)
