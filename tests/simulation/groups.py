"""The group coordinator: the classic protocol of consumer groups, and committed offsets."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from enum import Enum, auto

from tests.simulation import codes
from tests.simulation.transactions import Place
from tests.simulation.world import OUTSIDE, World

Joined = tuple[int, int, str, str, str, list[tuple[str, None, bytes]]]
"""Error code, generation, protocol, leader, member, and for the leader all members with their metadata."""
Synced = tuple[int, bytes]
_INITIAL_SECONDS = 0.1
"""For so long the first rebalance of a group waits for more members."""


class Stage(Enum):
    """Where a group is."""

    EMPTY = auto()
    PREPARING = auto()
    COMPLETING = auto()
    STABLE = auto()


@dataclass(eq=False)
class Member:
    """A member of a group."""

    name: str
    session: float
    rebalance: float
    protocol: str = ""
    metadata: bytes = b""
    seen_at: float = 0.0
    assignment: bytes = b""
    join: asyncio.Future[Joined] | None = None
    sync: asyncio.Future[Synced] | None = None


@dataclass(eq=False)
class Group:
    """A consumer group."""

    name: str
    stage: Stage = Stage.EMPTY
    generation: int = 0
    leader: str = ""
    members: dict[str, Member] = field(default_factory=dict)
    known: set[str] = field(default_factory=set)
    """Names that were given and have not joined yet."""
    offsets: dict[Place, int] = field(default_factory=dict)
    earlier: list[dict[Place, int]] = field(default_factory=lambda: [{}])
    """The offsets after each commit."""
    loaded: dict[Place, int] | None = None
    """What a coordinator that has just started reads, until it has written; None for all."""
    pending: dict[int, dict[Place, int]] = field(default_factory=dict)
    """Offsets in open transactions, by producer."""
    epochs: dict[int, int] = field(default_factory=dict)
    rebalances: int = 0


class Groups:
    """The coordinator of all groups."""

    def __init__(self, world: World, chance: random.Random) -> None:
        """Knows no group yet."""
        self._world = world
        self._chance = chance
        self._groups: dict[str, Group] = {}
        self._names = 0

    def of(self, name: str) -> Group:
        """The group of a name; an empty one if there was none."""
        return self._groups.setdefault(name, Group(name))

    def known(self) -> list[Group]:
        """All groups."""
        return list(self._groups.values())

    def restart(self, some: list[Group] | None = None) -> None:
        """The coordinator starts or moves: it answers reads before all that is stored is visible again."""
        for group in self.known() if some is None else some:
            group.loaded = self._chance.choice(group.earlier)

    def fetch(self, name: str) -> dict[Place, int]:
        """The committed offsets, as the coordinator sees them now."""
        group = self.of(name)
        return group.offsets if group.loaded is None else group.loaded

    def join(
        self, name: str, who: str, session: float, rebalance: float, protocols: list[tuple[str, bytes]]
    ) -> asyncio.Future[Joined] | Joined:
        """A member joins or joins again; the answer comes when all have."""
        group = self.of(name)
        if not who:
            self._names += 1
            group.known.add(f"member-{self._names}")
            return codes.MEMBER_ID_REQUIRED, -1, "", "", f"member-{self._names}", []
        member = group.members.get(who)
        if member is None:
            if who not in group.known:
                return codes.UNKNOWN_MEMBER_ID, -1, "", "", who, []
            group.known.discard(who)
            member = group.members[who] = Member(who, session, rebalance)
            self._watch(group, member)
        protocol, metadata = protocols[0]
        unchanged = (member.protocol, member.metadata) == (protocol, metadata)
        member.protocol, member.metadata = protocol, metadata
        member.seen_at = self._world.time()
        settled = group.stage is Stage.COMPLETING or (group.stage is Stage.STABLE and who != group.leader)
        if unchanged and settled:
            return self._joined(group, member)
        waiting: asyncio.Future[Joined] = self._world.create_future()
        member.join = waiting
        if group.stage is not Stage.PREPARING:
            self._prepare(group)
        self._maybe_complete(group)
        return waiting

    def sync(
        self, name: str, generation: int, who: str, assignments: list[tuple[str, bytes]]
    ) -> asyncio.Future[Synced] | Synced:
        """A member asks for its assignment; the leader brings all of them."""
        group = self.of(name)
        if (error := self._check(group, who, generation)) or group.stage is Stage.PREPARING:
            return error or codes.REBALANCE_IN_PROGRESS, b""
        member = group.members[who]
        if group.stage is Stage.STABLE:
            return 0, member.assignment
        member.sync = self._world.create_future()
        if who == group.leader:
            given = dict(assignments)
            group.stage = Stage.STABLE
            for each in group.members.values():
                each.assignment = given.get(each.name, b"")
                waiting, each.sync = each.sync, None
                if waiting is not None:
                    _answer(waiting, (0, each.assignment))
            return 0, member.assignment
        return member.sync

    def heartbeat(self, name: str, generation: int, who: str) -> int:
        """A member is alive; the answer says whether the group rebalances."""
        group = self.of(name)
        if error := self._check(group, who, generation):
            return error
        group.members[who].seen_at = self._world.time()
        return codes.REBALANCE_IN_PROGRESS if group.stage is Stage.PREPARING else 0

    def leave(self, name: str, who: str) -> int:
        """A member leaves."""
        group = self.of(name)
        if who not in group.members:
            return codes.UNKNOWN_MEMBER_ID
        self._remove(group, group.members[who])
        return 0

    def commit(self, name: str, generation: int, who: str, offsets: dict[Place, int]) -> int:
        """A member commits offsets outside of transactions."""
        group = self.of(name)
        if error := self._check(group, who, generation):
            return error
        if group.stage is Stage.COMPLETING:
            return codes.REBALANCE_IN_PROGRESS
        self._store(group, offsets)
        return 0

    def commit_in_transaction(self, name: str, pid: int, epoch: int, offsets: dict[Place, int]) -> int:
        """Keeps offsets until their transaction ends. Whether it is open, the caller has verified."""
        group = self.of(name)
        if epoch < group.epochs.get(pid, -1):
            return codes.INVALID_PRODUCER_EPOCH
        group.epochs[pid] = epoch
        group.loaded = None
        group.pending.setdefault(pid, {}).update(offsets)
        return 0

    def end_transaction(self, name: str, pid: int, epoch: int, committed: bool) -> None:
        """The end of a transaction arrives at the group."""
        group = self.of(name)
        group.epochs[pid] = max(epoch, group.epochs.get(pid, -1))
        offsets = group.pending.pop(pid, {})
        if committed:
            self._store(group, offsets)

    def _store(self, group: Group, offsets: dict[Place, int]) -> None:
        group.offsets.update(offsets)
        group.earlier.append(dict(group.offsets))
        group.loaded = None

    def _check(self, group: Group, who: str, generation: int) -> int:
        if who not in group.members:
            return codes.UNKNOWN_MEMBER_ID
        return 0 if generation == group.generation else codes.ILLEGAL_GENERATION

    def _prepare(self, group: Group) -> None:
        for member in group.members.values():
            if member.sync is not None:
                _answer(member.sync, (codes.REBALANCE_IN_PROGRESS, b""))
                member.sync = None
        first = group.stage is Stage.EMPTY
        group.stage, group.rebalances = Stage.PREPARING, group.rebalances + 1
        longest = max(member.rebalance for member in group.members.values())
        seconds = _INITIAL_SECONDS if first else longest
        self._world.call_at(self._world.time() + seconds, self._complete_late, group, group.rebalances, context=OUTSIDE)

    def _complete_late(self, group: Group, number: int) -> None:
        if group.stage is Stage.PREPARING and group.rebalances == number:
            for member in [member for member in group.members.values() if member.join is None]:
                del group.members[member.name]
            self._complete(group)

    def _maybe_complete(self, group: Group) -> None:
        all_joined = all(member.join is not None for member in group.members.values())
        # The first rebalance waits for more members.
        if all_joined and group.generation > 0:
            self._complete(group)

    def _complete(self, group: Group) -> None:
        group.generation += 1
        if not group.members:
            group.stage, group.leader = Stage.EMPTY, ""
            return
        group.stage = Stage.COMPLETING
        if group.leader not in group.members:
            group.leader = next(iter(group.members))
        for member in group.members.values():
            waiting, member.join, member.sync = member.join, None, None
            member.seen_at = self._world.time()
            if waiting is not None:
                _answer(waiting, self._joined(group, member))

    def _joined(self, group: Group, member: Member) -> Joined:
        leads = member.name == group.leader
        members = [(each.name, None, each.metadata) for each in group.members.values()] if leads else []
        return 0, group.generation, member.protocol, group.leader, member.name, members

    def _remove(self, group: Group, member: Member) -> None:
        del group.members[member.name]
        if member.join is not None:
            _answer(member.join, (codes.UNKNOWN_MEMBER_ID, -1, "", "", "", []))
        if member.sync is not None:
            _answer(member.sync, (codes.UNKNOWN_MEMBER_ID, b""))
        if not group.members:
            group.stage, group.generation, group.leader = Stage.EMPTY, group.generation + 1, ""
        elif group.stage is Stage.PREPARING:
            self._maybe_complete(group)
        else:
            self._prepare(group)

    def _watch(self, group: Group, member: Member) -> None:
        """Removes the member when its session has ended; not while it waits for an answer of the coordinator."""
        if group.members.get(member.name) is not member:
            return
        due = member.seen_at + member.session
        if member.join is not None or member.sync is not None:
            due = self._world.time() + member.session
        elif due <= self._world.time() and member.seen_at:
            self._remove(group, member)
            return
        self._world.call_at(max(due, self._world.time() + 0.01), self._watch, group, member, context=OUTSIDE)


def _answer(future: asyncio.Future[object] | asyncio.Future[Joined] | asyncio.Future[Synced], value: object) -> None:
    if not future.done():
        future.set_result(value)  # type: ignore[arg-type]
