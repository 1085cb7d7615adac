"""What makers of random queries share: choices that a seed determines, and names that differ."""

import random


class Choices:
    """A source of choices and of new names."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = 0

    def name(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def choice(self, values):
        return self.random.choice(values)

    def chance(self, share):
        return self.random.random() < share
