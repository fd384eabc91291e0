"""Merge, undo, review and import write nothing that no tool may write, and nothing outside the workspace."""

import io
import json
import os
import zipfile

from harness.attempt import FREE, call, shell
from harness.registry import ALL, ONE, ROOT_LANDLOCK, USER_BWRAP, case, cases, spread

PAIR = (ROOT_LANDLOCK, USER_BWRAP)
MERGE = call("task_control", task_id="$CHILD", action="merge")
ADD = "B=$(echo evil | git hash-object -w --stdin); "
PROTECTED = """.mcp.json .ostler/config.toml .claude/settings.json .codex/config.toml .gemini/settings.json .cursor/mcp.json .opencode/x .agents/x .vscode/tasks.json
.idea/workspace.xml .zed/tasks.json .husky/pre-commit .envrc sub/.envrc sub/deep/.claude/settings.json sub/.mcp.json .MCP.JSON .Ostler/config.toml sub/.vscode/tasks.json""".split()


def by_index(t, path):
    """A child puts an entry into the index of its worktree that is no file there."""
    t.repository()
    plant = f"{ADD} git update-index --add --cacheinfo 100755,$B,'{path}' && git update-index --skip-worktree '{path}'; echo more >> a.txt"
    t.run(t.child(shell(plant)), MERGE)
    t.must(not os.path.lexists(t.path(path)), f"merge wrote {path}")


spread("worktrees", PAIR, {f"merge-index-{path}": path for path in PROTECTED}, by_index)

WAYS = {
    "assume-unchanged": ".mcp.json|git update-index --assume-unchanged .mcp.json",
    "plain-entry": ".envrc|true",
    "deep-file": "sub/.envrc|mkdir -p sub; echo evil > sub/.envrc",
    "deep-directory": "sub/.claude/settings.json|mkdir -p sub/.claude; echo evil > sub/.claude/settings.json",
    "deep-vscode": "sub/.vscode/tasks.json|mkdir -p sub/.vscode; echo evil > sub/.vscode/tasks.json",
    "deep-husky": "pkg/.husky/pre-commit|mkdir -p pkg/.husky; echo evil > pkg/.husky/pre-commit",
    "intent-to-add": ".husky/pre-commit|git update-index --skip-worktree .husky/pre-commit",
    "sparse": ".vscode/tasks.json|git sparse-checkout set --no-cone a.txt; git update-index --skip-worktree .vscode/tasks.json",
    "committed": ".claude/settings.json|git -c user.name=t -c user.email=t@t commit -qm evil; git update-index --skip-worktree .claude/settings.json",
    "git-in-disguise": "sub/.GIT/config|mkdir -p sub/.GIT; echo evil > sub/.GIT/config",
    "git-short-name": "git~1/config|mkdir -p git~1; true",
}


def by_way(t, row):
    path, how = row.split("|")
    t.repository()
    plant = f"{ADD} git update-index --add --cacheinfo 100644,$B,{path}; {how}; echo more >> a.txt"
    t.run(t.child(shell(plant)), MERGE)
    written = t.read(path)
    t.must(path.startswith("git~") or written is None, f"merge wrote {path}")


spread("worktrees", PAIR, {f"merge-{name}": row for name, row in WAYS.items()}, by_way)


def keeps(t, how):
    """Protected files that the user has stay as they are, whatever a child did to them."""
    names = (".mcp.json", ".envrc", ".ostler/config.toml", ".vscode/tasks.json")
    t.repository(files=("a.txt", *names))
    before = [t.read(name) for name in names]
    t.run(t.child(shell(how + "; echo more >> a.txt")), MERGE)
    t.must([t.read(name) for name in names] == before, "merge changed or removed a protected file")


spread("worktrees", PAIR, {
    "merge-removes-protected": "git rm -q --cached -r .mcp.json .envrc .ostler .vscode",
    "merge-changes-protected": ADD + "for f in .mcp.json .envrc .ostler/config.toml .vscode/tasks.json; do git update-index --cacheinfo 100644,$B,$f; git update-index --skip-worktree $f; done",
    "merge-links-protected": "B=$(printf a.txt | git hash-object -w --stdin); for f in .mcp.json .envrc; do git update-index --cacheinfo 120000,$B,$f; git update-index --skip-worktree $f; done",
    "merge-protected-modes": "for f in .mcp.json .envrc .ostler/config.toml; do git update-index --chmod=+x $f; git update-index --skip-worktree $f; done; true",
}, keeps)


@case("worktrees/merge-link-named-protected", PAIR)
def link_named(t):
    """A link whose name is protected, into a directory that the child fills."""
    t.repository()
    plant = "mkdir conf; echo evil > conf/settings.json; B=$(printf conf | git hash-object -w --stdin); for f in .claude .husky; do " \
            "git update-index --add --cacheinfo 120000,$B,$f; git update-index --skip-worktree $f; done"
    t.run(t.child(shell(plant)), MERGE)
    t.must(not any(os.path.lexists(t.path(name)) for name in (".claude", ".husky")), "merge made a link with a protected name")


@case("worktrees/merge-through-a-link", ALL)
def through_link(t):
    """A directory of the workspace becomes a link to outside before the merge."""
    t.repository(files=("dir/f.txt", "a.txt"))
    away = os.path.join(t.outside, "away")
    os.makedirs(away)
    t.write(os.path.join(away, "f.txt"), "one dir/f.txt\n")
    swap = shell(f"rm -rf dir; ln -s {away} dir")
    t.run(t.child(shell("echo evil > dir/f.txt; echo evil > dir/g.txt")), swap, MERGE)
    t.must(os.listdir(away) == ["f.txt"] and "evil" not in open(os.path.join(away, "f.txt")).read(), "merge wrote outside through a link")


@case("worktrees/merge-above-the-workspace", PAIR)
def above(t):
    """The workspace is a directory of the repository: a merge stays in it."""
    t.repository(files=("top.txt", "sub/a.txt"))
    plant = ADD + "git update-index --add --cacheinfo 100644,$B,top.txt; git update-index --skip-worktree ../top.txt; git update-index --add --cacheinfo 100644,$B,new.txt; " \
        "echo evil > ../top.txt; echo evil > ../new.txt; echo more >> a.txt"
    t.run(t.child(shell(plant)), MERGE, workspace=t.path("sub"))
    t.must(t.read("top.txt") == b"one top.txt\n" and t.read("new.txt") is None, "merge wrote above the workspace")


ASK_MERGE = {"approval": {"require_for_kinds": ["write"]}, "verify": {"auto": False}}


def pending_merge(t):
    """Has a merge wait for an answer; gives its record and what its route shows."""
    session = t.session(ASK_MERGE)
    child = t.child(shell("echo canary-line >> a.txt; echo other > new-file.txt"))
    turn = t.play(session, child, MERGE, answer=None)
    t.must(turn.asked, "the merge was not asked about")
    shown = t.daemon.request("GET", f"/v1/sessions/{session}/approvals/{turn.asked[0]['tool_call']['id']}/diff")[1]
    return json.dumps(turn.asked[0]), json.dumps(shown)


@case("worktrees/merge-approval-shows-files", ONE)
def shows_files(t):
    t.repository()
    asked, shown = pending_merge(t)
    t.must("a.txt" in asked + shown and "new-file.txt" in asked + shown, f"the approval of a merge names no files: {asked[:300]}")


@case("worktrees/merge-approval-shows-diff", ONE)
def shows_diff(t):
    t.repository()
    asked, shown = pending_merge(t)
    t.must("canary-line" in asked + shown, "the approval of a merge shows no diff")


@case("worktrees/merge-is-what-was-approved", ONE)
def as_approved(t):
    """What is merged is what the approval showed, not what the child's worktree became meanwhile."""
    t.repository()
    session = t.session(ASK_MERGE)
    turn = t.play(session, t.child(shell("echo shown >> a.txt")), MERGE, answer=None)
    t.must(turn.asked, "the merge was not asked about")
    child = turn.asked[0]["tool_call"]["input"]["task_id"]
    t.play(child, shell("echo swapped > a.txt; echo late > late.txt"))
    t.answer(session, turn.id, turn.asked[0]["tool_call"]["id"], "approve")
    t.follow(session, turn.id)
    t.must(t.read("late.txt") is None and b"swapped" not in t.read("a.txt"), "changes made after the approval was shown were merged")


def undone(t, act, swap, check):
    """A turn changes files, a later command prepares the ground, then the turn is undone."""
    t.repository(files=("dir/f.txt", "a.txt"))
    session = t.session()
    turn = t.play(session, *act)
    swap(t)
    t.daemon.request("POST", f"/v1/sessions/{session}/undo", {"turn_id": turn.id, "force": True})
    check(t)


def swap_directory(t):
    away = os.path.join(t.outside, "away")
    os.makedirs(away, exist_ok=True)
    t.write(os.path.join(away, "f.txt"), "kept\n")
    t.write(os.path.join(away, "g.txt"), "kept\n")
    t.remove("dir")
    os.symlink(away, t.path("dir"))


def away_is_kept(t):
    away = os.path.join(t.outside, "away")
    t.must(sorted(os.listdir(away)) == ["f.txt", "g.txt"] and open(os.path.join(away, "f.txt")).read() == "kept\n", "undo changed files outside")


@case("worktrees/undo-through-a-link", ALL)
def undo_link(t):
    undone(t, [shell("echo evil > dir/f.txt; echo evil > dir/g.txt")], swap_directory, away_is_kept)


@case("worktrees/undo-leaves-the-users-settings", ONE)
def undo_settings(t):
    def user_writes(t):
        t.write(".mcp.json", "{}\n")
        t.write(".envrc", "users\n")

    def kept(t):
        t.must(t.read(".mcp.json") == b"{}\n" and t.read(".envrc") == b"users\n", "undo changed the user's protected files")

    undone(t, [shell("echo x > a.txt")], user_writes, kept)


@case("worktrees/undo-plants-nothing-in-git", ONE)
def undo_git(t):
    """A directory that was captured becomes a link into `.git`."""
    def swap(t):
        t.remove("dir")
        os.symlink(".git/hooks", t.path("dir"))

    def check(t):
        t.must(not os.path.exists(t.path(".git/hooks/f.txt")), "undo wrote into .git through a link")

    undone(t, [shell("echo evil > dir/f.txt")], swap, check)


@case("worktrees/review-reject-through-a-link", PAIR)
def review_link(t):
    t.repository(files=("dir/f.txt", "a.txt"))
    session = t.session({**FREE, "patch_review": {"mode": "request"}})
    after = t.daemon.ask("GET", f"/v1/sessions/{session}")["last_seq"]
    turn = t.say(session, "play " + json.dumps([shell("echo evil > dir/f.txt; echo evil > dir/g.txt")]))
    for event in t.daemon.events(session, after):
        if event["type"] == "patch_review_requested":
            swap_directory(t)
            t.answer(session, turn, event["data"]["tool_call_id"], "deny")
            break
    t.follow(session, turn, answer="deny")
    away_is_kept(t)


SLIPS = {"up": "../../../token", "absolute": "/etc/ostler-attack", "backslash": "..\\..\\token", "attachment": "attachments/../../../../token", "dots": "artifacts/./../../../token"}


def slip(t, name):
    session = t.run("hello").session
    exported = t.daemon.request("GET", f"/v1/sessions/{session}/export?format=ndjson")[1]
    text = exported if isinstance(exported, str) else json.dumps(exported)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("events.ndjson", text)
        archive.writestr(name, "evil")
    with open(os.path.join(t.daemon.data, "token")) as file:
        before = file.read()
    t.daemon.request("POST", "/v1/sessions/import", raw=packed.getvalue(), headers={"content-type": "application/zip"})
    with open(os.path.join(t.daemon.data, "token")) as file:
        t.must(file.read() == before, "an import overwrote the token")
    t.must(not os.path.exists("/etc/ostler-attack"), "an import wrote outside")


cases("worktrees", ONE, {f"import-{name}": path for name, path in SLIPS.items()}, slip)


@case("worktrees/import-does-not-run", ONE)
def import_runs(t):
    """An imported session that had a pending call does not run it."""
    session = t.session({"verify": {"auto": False}})
    t.play(session, shell(f"touch {t.path('P')}"), answer=None)
    exported = t.daemon.request("GET", f"/v1/sessions/{session}/export?format=ndjson")[1]
    made = t.daemon.request("POST", "/v1/sessions/import", raw=exported if isinstance(exported, str) else json.dumps(exported), headers={"content-type": "application/x-ndjson"})[1]
    t.must("session_id" in made, f"the import failed, so this shows nothing: {made}")
    state = t.daemon.ask("GET", f"/v1/sessions/{made['session_id']}")
    t.must(not state["pending_approvals"] and not state["running_turn_id"], "an imported call is still open")
    t.must(not os.path.exists(t.path("P")), "an imported call ran")


@case("worktrees/child-has-no-more-rights", ONE)
def rights(t):
    """A child asks about what its parent would be asked about, and its worktree is no trusted workspace by itself."""
    t.repository()
    t.write("Makefile", f"test:\n\ttouch {t.path('P')}\n")
    session = t.session({"verify": {"auto": False}})
    after = t.daemon.ask("GET", f"/v1/sessions/{session}")["last_seq"]
    turn = t.say(session, "play " + json.dumps([t.child(shell(f"touch {t.path('P')}; echo x > y"))]))
    t.until(lambda: t.daemon.ask("GET", "/v1/approvals")["approvals"] and any(
        one["session_id"] in json.dumps(t.daemon.ask("GET", f"/v1/sessions/{session}")) for one in t.daemon.ask("GET", "/v1/approvals")["approvals"]), "the child's call is asked about")
    t.must(not os.path.exists(t.path("P")), "a child's command ran unasked")
    t.daemon.request("POST", f"/v1/sessions/{session}/cancel", {})
    t.follow(session, turn, after)
