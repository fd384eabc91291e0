"""The list of cases. A case is a function of one `Attempt`; it raises `Failure` when an attack got through."""

ROOT_BWRAP, ROOT_LANDLOCK, USER_BWRAP, USER_LANDLOCK = "root-bwrap", "root-landlock", "user-bwrap", "user-landlock"
ALL = (ROOT_BWRAP, ROOT_LANDLOCK, USER_BWRAP, USER_LANDLOCK)
BWRAP = (ROOT_BWRAP, USER_BWRAP)
LANDLOCK = (ROOT_LANDLOCK, USER_LANDLOCK)
USER = (USER_BWRAP, USER_LANDLOCK)
# For what does not depend on who runs the daemon or on the sandbox.
ONE = (USER_BWRAP,)

CASES = {}


class Failure(Exception):
    """An attack got through, or a defence did not answer as it must."""


class Case:
    def __init__(self, name, configs, run):
        self.name, self.configs, self.run = name, configs, run
        self.group = name.split("/")[0]


def case(name, configs=ALL):
    """Adds a function to the list, as `class/what-is-tried`."""

    def add(run):
        if name in CASES:
            raise ValueError(f"two cases are named {name}")
        CASES[name] = Case(name, configs, run)
        return run

    return add


def cases(group, configs, rows, run):
    """Adds one case for each row of data: `run(attempt, value)`."""
    for name, value in rows.items():
        case(f"{group}/{name}", configs)(lambda attempt, value=value: run(attempt, value))


def spread(group, configs, rows, run, everywhere=()):
    """The same, with each row in one of the configurations by turns, and those that are named in all of them."""
    for number, (name, value) in enumerate(rows.items()):
        chosen = configs if name in everywhere else (configs[number % len(configs)],)
        cases(group, chosen, {name: value}, run)
