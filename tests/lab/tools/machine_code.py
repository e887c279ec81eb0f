"""Reads the machine code of x86-64 objects with binutils' objdump: functions, and the loops in them."""
import re
import subprocess

FILE = re.compile(r"^(\S+):\s+file format ")
FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
INSTRUCTION = re.compile(r"^ *([0-9a-f]+):\t(?:notrack |bnd )?(\S+) *([^#<]*)")
ENDS = ("ret", "ud2", "hlt")


def functions(listing):
    """(object, symbol, instructions) of a disassembly; an instruction is (address, mnemonic, operands)."""
    file, name, body = None, None, []
    for line in listing:
        instruction = INSTRUCTION.match(line)
        if instruction:
            body.append((int(instruction[1], 16), instruction[2], instruction[3].strip()))
            continue
        begin = FUNCTION.match(line) or FILE.match(line)
        if begin:
            if body:
                yield file, name, body
            body = []
            if begin.re is FILE:
                file = begin[1]
            else:
                name = begin[1]
    if body:
        yield file, name, body


def disassemble(objdump, library):
    listing = subprocess.run([objdump, "-d", "-w", "--no-show-raw-insn", library],
                             capture_output=True, text=True, check=True).stdout
    return functions(listing.splitlines())


class Loop:
    """`blocks` are all basic blocks of the loop, `own` the instructions outside of the loops in it."""

    def __init__(self, header, blocks):
        self.header, self.blocks, self.own, self.innermost = header, blocks, [], True


class Flow:
    """The basic blocks of one function, their successors, and its natural loops."""

    def __init__(self, body):
        self.blocks, self.next = self._split(body)
        self._order()
        self.loops = self._find_loops()

    @staticmethod
    def _split(body):
        addresses = {address for address, _, _ in body}
        starts, targets = {body[0][0]}, {}
        for (address, name, operands), following in zip(body, body[1:] + [(None, "", "")]):
            if name.startswith("j"):
                target = int(operands, 16) if re.fullmatch(r"[0-9a-f]+", operands) else None
                targets[address] = target if target in addresses else None
                starts |= {targets[address], following[0]}
            elif name.startswith(ENDS):
                starts.add(following[0])
        blocks = []
        for instruction in body:
            if instruction[0] in starts:
                blocks.append([])
            blocks[-1].append(instruction)
        index = {block[0][0]: i for i, block in enumerate(blocks)}
        following = []
        for i, block in enumerate(blocks):
            address, name, _ = block[-1]
            on = [index[targets[address]]] if targets.get(address) is not None else []
            if not name.startswith(ENDS + ("jmp",)) and i + 1 < len(blocks):
                on.append(i + 1)
            following.append(on)
        # A jump through a table goes to the blocks that nothing else leads to.
        orphans = sorted(set(range(1, len(blocks))) - {on for ons in following for on in ons})
        for block, on in zip(blocks, following):
            if block[-1][1].endswith("jmp") and block[-1][2].startswith("*"):
                on += orphans
        return blocks, following

    def _order(self):
        """Numbers the blocks that can be reached in reverse postorder, and finds their dominators."""
        order, seen, stack = [], {0}, [(0, iter(self.next[0]))]
        while stack:
            block, rest = stack[-1]
            for on in rest:
                if on not in seen:
                    seen.add(on)
                    stack.append((on, iter(self.next[on])))
                    break
            else:
                stack.pop()
                order.append(block)
        self.order = order[::-1]
        number = {block: i for i, block in enumerate(self.order)}
        self.before = {block: [] for block in self.order}
        for block in self.order:
            for on in self.next[block]:
                self.before[on].append(block)
        self.dominator, changed = {0: 0}, True
        while changed:
            changed = False
            for block in self.order[1:]:
                known = [b for b in self.before[block] if b in self.dominator]
                common = known[0]
                for other in known[1:]:
                    while common != other:
                        if number[common] > number[other]:
                            common = self.dominator[common]
                        else:
                            other = self.dominator[other]
                if self.dominator.get(block) != common:
                    self.dominator[block], changed = common, True

    def _dominates(self, a, b):
        while a != b and b != 0:
            b = self.dominator[b]
        return a == b

    def _find_loops(self):
        found = {}
        self.back = {(block, on) for block in self.order for on in self.next[block] if self._dominates(on, block)}
        for last, header in sorted(self.back):
            blocks, rest = found.setdefault(header, {header}), [last]
            while rest:
                block = rest.pop()
                if block not in blocks:
                    blocks.add(block)
                    rest += self.before[block]
        loops = [Loop(header, blocks) for header, blocks in found.items()]
        for loop in loops:
            inner = [other.blocks for other in loops if other is not loop and other.header in loop.blocks]
            loop.innermost = not inner
            loop.own = [i for block in sorted(loop.blocks.difference(*inner)) for i in self.blocks[block]]
        return loops

    def after(self, blocks):
        """The blocks of the set `blocks` and what can follow them without going round a loop again."""
        reached, rest = set(blocks), list(blocks)
        while rest:
            block = rest.pop()
            for on in self.next[block]:
                if (block, on) not in self.back and on not in reached:
                    reached.add(on)
                    rest.append(on)
        return reached
