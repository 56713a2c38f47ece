"""What every store has to do for those who follow it: readers that are told of new generations."""

from __future__ import annotations

from pincite.model.errors import is_server
from pincite.store.location import GenerationPoller, Location, exists, remove_index
from pincite.testing.documents import build, rules


class WatchContract:
    """Tests of one kind of store that is watched; a subclass says where a new, empty one is."""

    def fresh(self) -> Location:
        """Return where an index can be made: nothing is there yet."""
        raise NotImplementedError

    def test_whoever_watches_learns_of_a_new_generation(self) -> None:
        location = self.fresh()
        watches = [GenerationPoller(location), GenerationPoller(location)]
        seen = [{each.stamp() for each in watches}]
        for number in (1, 2):
            build(location, {"a.md": rules(number)})
            # Looking changes nothing, and all who look see the same.
            seen += [{each.stamp() for each in watches} for _ in range(2)]
        if is_server(location) and remove_index(str(location)):
            assert {each.stamp() for each in watches} == {""} and not exists(location)
            build(location, {"a.md": rules(1)})
            assert {each.stamp() for each in watches}.isdisjoint({"", *set().union(*seen)})
        for each in watches:
            each.close()
        assert seen[0] == {""} and all(len(each) == 1 for each in seen)
        assert seen[0] != seen[1] == seen[2] != seen[3] == seen[4]
