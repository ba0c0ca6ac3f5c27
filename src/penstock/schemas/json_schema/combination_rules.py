"""When a new combination of schemas refuses what the old one accepts.

Members are paired so that each old one is narrower than its new one. Two things are accepted on
purpose, as in Confluent's registry, although a document may then be refused:

- `oneOf` counts as a sum of alternatives: that two of them may accept the same document, and
  `oneOf` therefore refuses it, is not looked at.
- More members in `anyOf` and `oneOf`, and fewer in `allOf`, are extensions.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

from penstock.schemas.json_schema.differences import Comparison, Difference, below, counted
from penstock.schemas.json_schema.documents import Node
from penstock.schemas.json_schema.shapes import Combination, Criterion, Member


@dataclass(slots=True)
class CombinationRules:
    """The rules for one pair of combinations."""

    comparison: Comparison
    old: Combination
    new: Combination
    partner: dict[int, int] = field(default_factory=dict)
    """For a new member, by its position, the old one it is paired with."""

    def differences(self) -> Iterator[Difference]:
        """Yield what keeps values of `old` from being values of `new`."""
        if not self._criterion_fits():
            yield Difference(
                kind="COMBINED_TYPE_CHANGED",
                message=f"`{self.new.criterion}` stands instead of `{self.old.criterion}`",
            )
            return
        yield from self._counts()
        self._pair()
        if len(self.partner) < min(len(self.old.members), len(self.new.members)):
            yield Difference(
                kind="COMBINED_TYPE_SUBSCHEMAS_CHANGED",
                message=f"members of `{self.new.criterion}` are not wider than those before",
            )
            yield from self._unpaired()

    def _criterion_fits(self) -> bool:
        old, new = self.old, self.new
        if old.criterion is new.criterion or new.criterion is Criterion.ANY:
            return True
        if new.criterion is Criterion.ONE:
            return len(old.members) == 1
        return len(old.members) == len(new.members) == 1

    def _counts(self) -> Iterator[Difference]:
        old, new = len(self.old.members), len(self.new.members)
        product = self.new.criterion is Criterion.ALL
        if (product and old < new) or (not product and old > new):
            yield Difference(
                kind="PRODUCT_TYPE_EXTENDED" if product else "SUM_TYPE_NARROWED",
                message=f"`{self.new.criterion}` has {counted(new, 'member')} instead of {old}",
            )

    def _pair(self) -> None:
        """Pair as many members as possible: Kuhn's way of augmenting a matching."""
        for position in range(len(self.old.members)):
            self._place(position, set())

    def _place(self, position: int, tried: set[int]) -> bool:
        # Most members do not move, so the one at the same position is asked first.
        count = len(self.new.members)
        for candidate in chain(range(position, count), range(min(position, count))):
            if candidate in tried or self._between(position, candidate):
                continue
            tried.add(candidate)
            if candidate not in self.partner or self._place(self.partner[candidate], tried):
                self.partner[candidate] = position
                return True
        return False

    def _between(self, old: int, new: int) -> tuple[Difference, ...]:
        return self.comparison.differences(self.old.members[old], self.new.members[new])

    def _unpaired(self) -> Iterator[Difference]:
        """Yield what is wrong with the one member that found no partner, if it is one."""
        paired = set(self.partner.values())
        olds = [at for at in range(len(self.old.members)) if at not in paired]
        news = [at for at in range(len(self.new.members)) if at not in self.partner]
        if len(olds) == len(news) == 1:
            way = _way_to(self.new.members[news[0]], self.new.criterion)
            yield from below(way, self._between(olds[0], news[0]))


def _way_to(member: Member, criterion: Criterion) -> tuple[str, ...]:
    """Return the way to a member; what stands beside others in one schema has none."""
    if isinstance(member, Node) and member.way[-2:-1] == (criterion,):
        return member.way[-2:]
    return ()
