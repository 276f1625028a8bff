"""One call on its way: what it has generated, where it stands in the tree, what it runs next."""

from collections.abc import Sequence
from concurrent.futures import Future
from time import perf_counter

from flare_local.engine.call import Call, Generation
from flare_local.engine.counters import Counters
from flare_local.engine.lookup import NOTHING, Lookup, Proposals
from flare_local.engine.output import Output
from flare_local.engine.plan import Stretch
from flare_local.engine.prefix_tree import Choice, Node, PrefixTree
from flare_local.engine.scores import Scored, is_plain
from flare_local.engine.slots import Run, size, split
from flare_local.engine.speculation import Speculator
from flare_local.spans import current


class Running:
    """Invariants while admitted: this call locks `place`, `ids[:cached]` is the sequence that ends there, and `ids`
    is the prompt and all tokens generated.
    """

    def __init__(self, call: Call, output: Output, future: "Future[Generation]", speculator: Speculator) -> None:
        """`speculator` says what is proposed, and how much of it."""
        self.call = call
        self.output = output
        self.future = future
        self.track = current()  # in a profile: of the question that asked
        self.counters = Counters(calls=1, prompt_tokens=len(call.prompt))
        self.ids = list(call.prompt)
        self.cached = 0
        self.tree: PrefixTree | None = None  # None: not admitted
        self.slots: list[Run] = []  # taken for the forward that is on its way
        self.proposals = NOTHING  # verified in the forward that is on its way
        self._node: Node | None = None
        self._speculator = speculator
        self._lookup = Lookup(call.speculate, speculator.settings.sources, speculator.settings.most)
        self._submitted = perf_counter()

    # -- admission ------------------------------------------------------------------------------------------------

    @property
    def place(self) -> tuple[PrefixTree, Node]:
        """The tree and the node in it where the cached part of the sequence ends."""
        assert self.tree is not None
        assert self._node is not None
        return self.tree, self._node

    @property
    def worst_case(self) -> int:
        """Slots of the whole sequence if the budget is used up; proposals never go beyond it."""
        return len(self.call.prompt) + self.call.max_new_tokens

    def enter(self, tree: PrefixTree) -> None:
        """Takes the cached prefix and locks it."""
        self.tree, self._node, self.cached = tree, tree.root, 0
        self._move()

    def leave(self) -> None:
        """Lets go of the tree; what was computed stays there as idle prefix."""
        tree, node = self.place
        tree.unlock(node)
        self.tree = self._node = None

    @property
    def reserved(self) -> int:
        """Slots that this call may still take."""
        return max(0, self.worst_case - self.cached - size(self.slots))

    # -- before a forward -----------------------------------------------------------------------------------------

    def catch_up(self) -> None:
        """Takes over what other calls have put into the tree, and reads output that is known without a forward."""
        while not self.output.done:
            self._move()
            if self.cached < len(self.ids) or not is_plain(self.call):
                return
            before = len(self.ids)
            tree, node = self.place
            for choice in tree.known(node):
                self._push(choice)
                self.counters.known += 1
                if self.output.done:
                    return
            if len(self.ids) == before:
                return

    def _move(self) -> None:
        tree, node = self.place
        end, more = tree.descend(node, self.ids[self.cached :])
        if more:
            tree.lock(end)
            tree.unlock(node)
            reused = max(0, min(more, len(self.call.prompt) - self.cached))
            self.counters.reused += reused
            self.counters.warm += min(reused, tree.warm(end) - tree.warm(node))
            self._node, self.cached = end, self.cached + more

    @property
    def again(self) -> int:
        """1 where the last token has to be run again only for its logits, which nobody read before; else 0."""
        return int(self.cached == len(self.ids))

    @property
    def next_place(self) -> tuple[int, int]:
        """Names the next token to run: equal for two calls that would run the same token after the same prefix."""
        return (id(self), -1) if self.again else (id(self._node), self.ids[self.cached])

    @property
    def waiting(self) -> int:
        """Tokens of the sequence that are still to be run, at least one."""
        return len(self.ids) - self.cached + self.again

    def next_stretch(self, room: int, rows: int, sequences: int) -> Stretch:
        """What to run next, at most `room` tokens of the sequence, and behind its end the proposals.

        `rows`: what the forward has already, all but the proposals of this call and of those behind it; `sequences`:
        how many calls it brings one token further.
        """
        tree, node = self.place
        begin = self.cached - self.again
        end = min(len(self.ids), begin + room)
        self.proposals = self._proposals(rows, sequences) if end == len(self.ids) else NOTHING
        tokens = self.ids[begin:end] + self.proposals.tokens
        context = tree.runs(node)
        after = context[-1][0] + context[-1][1] - 1 if context else None
        self.slots = self._take(len(tokens), after)
        if self.again:
            context, _ = split(context, begin)
        last = end - begin - 1
        read = range(last, len(tokens)) if end == len(self.ids) else []
        return Stretch(tokens, context, self.slots, read)

    def _proposals(self, rows: int, sequences: int) -> Proposals:
        """What may follow, as far as running it is expected to pay."""
        source, tokens = self._lookup.after(self.ids, self.output.tokens, self.output.left - 1)
        return Proposals(source, tokens[: self._speculator.width(source, len(tokens), rows, sequences)])

    def _take(self, count: int, after: int | None) -> list[Run]:
        tree, _ = self.place
        missing = count - tree.pool.free.count
        if missing > 0:
            self.counters.evicted += tree.evict(missing)
        return tree.pool.allocate(count, after)

    # -- after a forward ------------------------------------------------------------------------------------------

    def advance(self, stretch: Stretch, scored: Sequence[Scored]) -> tuple[list[int], int]:
        """Takes the choices in, keeps K and V of what proved right, gives the other slots back.

        Returns the sequence that was kept, and where in it the tokens run begin. It may go on past the end of the
        output: what equals the model's own choice is what it would say next.
        """
        tree, node = self.place
        again = self.again
        begin = self.cached - again
        self.counters.run += len(stretch.tokens)
        proposed = self.proposals.tokens
        self.counters.drafted += len(proposed)
        accepted = 0
        for i, choice in enumerate(scored):
            if not self.output.done:
                self._push(choice.chosen)
            if i == len(proposed) or choice.chosen.token != proposed[i]:
                break
            accepted += 1
        self.counters.accepted += accepted
        self._speculator.judged(self.proposals.source, len(proposed), accepted)
        kept, rejected = split(self.slots, len(stretch.tokens) - len(proposed) + accepted)
        tokens = list(stretch.tokens[: size(kept)])
        sequence = self.ids[:begin] + tokens
        choices: list[Choice | None] = [None] * len(tokens)
        for offset, choice in zip(stretch.read, scored, strict=False):
            if offset < len(tokens):
                choices[offset] = choice.natural
        if again:  # the token is in the tree already: only what follows it is new
            tree.remember(node, scored[0].natural)
            once, kept = split(kept, 1)
            rejected, tokens, choices = once + rejected, tokens[1:], choices[1:]
        tree.pool.release(rejected)
        self.slots, self.proposals = [], NOTHING
        self._node = tree.extend(node, tokens, kept, choices)
        self.cached = len(sequence)
        return sequence, begin

    def generation(self) -> Generation:
        """The result of a call that is done."""
        self.counters.total_ms = (perf_counter() - self._submitted) * 1000
        return self.output.generation(self.counters)

    def drop_forward(self) -> None:
        """Gives the slots of a forward that failed back."""
        tree, _ = self.place
        tree.pool.release(self.slots)
        self.slots, self.proposals = [], NOTHING

    def _push(self, choice: Choice) -> None:
        before = len(self.output.tokens)
        self.output.push(choice.token, choice.probability)
        if self.call.watch is not None and len(self.output.tokens) > before:
            self.call.watch(choice.token, choice.probability)
        if len(self.ids) < len(self.call.prompt) + len(self.output.tokens):
            self.ids.append(choice.token)
