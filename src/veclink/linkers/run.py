"""Run: how a method is run on two prepared collections, wherever it runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veclink.backends import CloudPair, look_on, placed_clouds
from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.data.words import Reason
from veclink.geometry.clouds import Cloud, prepare
from veclink.linkers.anchors import Anchors
from veclink.linkers.checkpoint import Checkpoint, Watch, fingerprint
from veclink.linkers.copies import Grouped, grouped
from veclink.linkers.geh.linker import geh
from veclink.linkers.options import GehOptions, Options, SpanOptions
from veclink.linkers.result import links_of
from veclink.linkers.span.kernel_clouds import kernel_clouds
from veclink.linkers.span.linker import span

if TYPE_CHECKING:
    from veclink.backends.ray_clouds import Cluster


@dataclass(frozen=True, eq=False)
class Run:
    """How a method is run: its options, the device, bytes that may be allocated, a cluster, and what to note down."""

    options: Options
    device: str
    memory: int | str | None
    random_state: int
    cluster: Cluster | None
    told: dict[str, Any]

    @property
    def method(self) -> str:
        """The name of the linker."""
        return "geh" if isinstance(self.options, GehOptions) else "span"

    def prepared(self, left: Collection, right: Collection, skip_zero: bool) -> tuple[Cloud, Cloud]:
        """The collections as clouds, centred where the method wants it."""
        asked: dict[str, Any] = {"centre": self.options.centred, "skip_zero": skip_zero, "look": look_on(self.device)}
        return prepare(left, side="A", **asked), prepare(right, side="B", **asked)

    def grouped(self, a: Cloud, b: Cloud) -> Grouped | None:
        """The clouds without their copies; None where there are none, or where they are to stay."""
        if not isinstance(self.options, SpanOptions) or not self.options.group_copies:
            return None
        groups = grouped(a, b)
        return groups if any(groups.copies) else None

    def with_copies(self, links: Links, groups: Grouped) -> Links:
        """The links of groups as links of rows, and how many copies there are."""
        assert isinstance(self.options, SpanOptions), "only span groups copies"
        if not self.options.one_to_one:
            links = groups.expanded(links)
        of_a, of_b = groups.copies
        note = Reason("copies", a=of_a, b=of_b, linked=not self.options.one_to_one)
        summary = replace(links.summary, copies=groups.copies, why=(*links.summary.why, note))
        return replace(links, summary=summary)

    def checkpoint(self, folder: str | Path | None, a: Cloud, b: Cloud, anchors: Anchors | None) -> Checkpoint | None:
        """Where this run, and no other, is kept."""
        if folder is None:
            return None
        options = {"method": self.method, "device": self.device, **self.told}
        return Checkpoint(folder, fingerprint(a, b, anchors, options))

    def links(self, a: Cloud, b: Cloud, anchors: Anchors | None, watch: Watch) -> Links:
        """What the method finds."""
        if isinstance(self.options, SpanOptions):
            clouds = self._cloud_pair(a, b, self.options)
            if anchors is not None and anchors.pairs is not None:
                left, right = clouds.vectors(anchors.pairs)  # to the last bit as the device has them
                anchors = replace(anchors, left=left, right=right)
            found = span(clouds, anchors, self.options, random_state=self.random_state, watch=watch)
        else:
            assert anchors is not None, "_check_start asks for them"
            growth = geh(
                a,
                b,
                anchors,
                self.options,
                memory=self.memory,
                device=self.device,
                random_state=self.random_state,
                watch=watch,
            )
            found = growth.decided(len(anchors))
        return links_of(found, a, b, anchors, self.told)

    def _cloud_pair(self, a: Cloud, b: Cloud, options: SpanOptions) -> CloudPair:
        if options.signature == "kernel":
            return kernel_clouds(a, b, options, self.device)
        return placed_clouds(a, b, self.device, self.memory, k=options.k, ridge=options.ridge, cluster=self.cluster)
