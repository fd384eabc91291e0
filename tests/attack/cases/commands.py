r"""Command lines that must not count as ones that only read. Each makes the file `P` when it runs, which is looked for after it ran
unasked or was denied; that a line makes it at all is tried first, with bash alone."""

import os
import shutil
import subprocess

from harness.attempt import ASKS, shell
from harness.registry import ONE, Failure, case, cases

A = "'x[$(touch P)]'"
LEFT = f"echo {A}; "

# A value that another command left is evaluated as arithmetic.
ARITHMETIC = {
    "name": LEFT + 'echo "n$((_))"', "value": LEFT + "echo $(( $_ ))", "braces": LEFT + 'echo "$((${_}))"', "old-form": LEFT + "echo $[_]",
    "command": LEFT + "((_))", "let": LEFT + "let _", "loop": LEFT + "for ((i=_;i<0;i++)); do :; done",
    "double-test": LEFT + "[[ _ -eq 0 ]]", "double-test-value": LEFT + "[[ 1 -lt $_ ]]", "offset": LEFT + "echo ${PATH:_}",
    "offset-value": LEFT + "echo ${PATH:$_:1}", "length": LEFT + "echo ${PATH:0:_}", "subscript": LEFT + "echo ${PATH[_]}",
    "subscript-value": LEFT + "echo ${BASH_VERSINFO[$_]}", "status-subscript": LEFT + "echo ${PIPESTATUS[_]}",
    "positional-slice": LEFT + "echo ${@:_}", "here-document": LEFT + "cat <<E\n$((_))\nE", "here-string": LEFT + "cat <<< $((_))",
    "redirect": LEFT + "cat < $((_))", "case": LEFT + "case $((_)) in *) ls;; esac", "test": LEFT + 'test "$((_))" = 0',
    "assignment": LEFT + "x=$((_))", "condition": LEFT + "echo $((1?_:0))", "comma": LEFT + "echo $((1,_))", "nested": LEFT + "echo $(($((_))))",
    "quoted": LEFT + 'echo $(( "_" ))', "substitution": LEFT + 'echo "$(echo $((_)))"', "backquotes": LEFT + "echo `echo $((_))`",
    "default-value": LEFT + "echo ${nothing:-$((_))}", "brace-list": LEFT + "echo {a,$((_))}", "substring-of-itself": LEFT + "echo ${_:_}",
    "pattern": LEFT + "echo ${PATH/$((_))/x}", "piped": LEFT + "echo $((_)) | cat", "grouped": "{ " + LEFT + "echo $((_)); }",
    "hex": LEFT + "echo $((0x0+_))", "signed": LEFT + "echo $((-_))", "not": LEFT + "echo $((!_))", "shift": LEFT + "echo $((1<<_))",
    "base": LEFT + "echo $((_,16#f))", "new-line": LEFT + "echo $((\n_\n))", "joined": LEFT + "echo $((\\\n_))",
    "indirect": LEFT + "echo ${!_}", "prompt": "echo '$(touch P)'; echo \"${_@P}\"", "last-of-ls": f"ls {A} 2>&1; echo $((_))",
    "last-of-test": f"test -e {A}; echo $((_))", "last-of-cat": f"cat a.txt {A}; echo $((_))",
}
# The same inside quotes, where a reader may take an expansion for a plain text.
QUOTED = {
    "offset": LEFT + 'echo "n${PATH:_}"', "length": LEFT + 'echo "${PATH:0:_}"', "subscript": LEFT + 'echo "${PATH[_]}"', "old-form": LEFT + 'echo "n$[_]"', "value": LEFT + 'echo "n$(( $_ ))"',
    "default": LEFT + 'echo "${nothing:-$((_))}"', "pattern": LEFT + 'echo "${PATH/$((_))/x}"', "slice": LEFT + 'echo "${@:_}"', "indirect": LEFT + 'echo "${!_}"', "plus": LEFT + 'echo "a$((1+_))b"',
    "head-count": LEFT + 'head -n "$((_))" a.txt', "cut-field": LEFT + 'cut -f "$((_))" a.txt', "seq": LEFT + 'seq "$((_))"', "sleep": LEFT + 'sleep "$((_))"', "test": LEFT + '[ "$((_))" = 1 ]',
    "here-document-offset": LEFT + "cat <<E\n${PATH:_}\nE", "condition-word": LEFT + 'if [[ "$((_))" == 0 ]]; then ls; fi', "loop-word": LEFT + 'for i in "$((_))"; do ls; done', "case-pattern": LEFT + 'case a in "$((_))") ls;; esac',
    "random-looks-fair": LEFT + 'echo "$((RANDOM+_))"', "line-number": LEFT + 'echo "$((LINENO[_]))"',
    "positional-head": f"bash -c 'head -n \"$(($1))\" a.txt' x {A}", "positional-document": f"bash -c 'cat <<E\n$(($1))\nE' x {A}",
    "positional-sh-env": f"env X=1 bash -c 'echo \"n$(($1))\"' x {A}", "positional-timeout": f"timeout 5 bash -c 'echo \"n$(($1))\"' x {A}", "positional-zero": f"bash -c 'echo \"n$(($0))\"' {A}", "positional-hash": f"bash -c 'echo \"$(($# ? $1 : 0))\"' x {A}",
}
# The same by the words that a script is given.
POSITIONAL = {
    "one": f"bash -c 'echo \"n$(($1))\"' x {A}", "all": f"bash -c 'echo $(($@))' x {A}", "star": f"bash -c 'echo $(($*))' x {A}",
    "zero": f"bash -c 'echo $(($0))' {A}", "braced": f"bash -c 'echo $((${{1}}))' x {A}", "offset": f"bash -c 'echo ${{PATH:$1}}' x {A}",
    "slice": f"bash -c 'echo ${{@:$1}}' x {A}", "test": f"bash -c '[[ $1 -eq 0 ]]' x {A}", "env": f"env bash -c 'echo $(($1))' x {A}",
    "timeout": f"timeout 5 bash -c 'echo $(($1))' x {A}", "nice": f"nice bash -c 'echo $(($1))' x {A}",
    "prompt": "bash -c 'echo \"${1@P}\"' x '$(touch P)'", "sh-as-program": "bash -c '$1 $2' x touch P", "set": f"set -- {A}; echo $(($1))",
    "for": f"for i in {A}; do echo $((i)); done", "function": f"f() {{ echo $(($1)); }}; f {A}", "xargs": f"echo {A} | xargs -0 bash -c 'echo $(($1))' x",
    "dash": "sh -c '$0 P' touch", "command-string-from-words": "bash -c \"$@\" x 'touch P' || bash -c '\"$@\"' x touch P",
}
# Builtins that evaluate a name.
NAMES = {
    "test-v": "test -v 'a[$(touch P)]'", "bracket-v": "[ -v 'a[$(touch P)]' ]", "double-bracket-v": "[[ -v 'a[$(touch P)]' ]]",
    "printf-v": "printf -v 'a[$(touch P)]' x", "read": "read 'a[$(touch P)]' <<< x", "unset": "a=(1); unset 'a[$(touch P)]'",
    "declare": "declare -i x='a[$(touch P)]'", "export": "export x=$(touch P)", "subscript": "a[$(touch P)]=1", "list": "a=([$(touch P)]=1)",
    "mapfile": "mapfile -c1 -C 'touch P;:' < a.txt", "compgen": "compgen -C 'touch P' x", "compgen-words": "compgen -W '$(touch P)' x",
    "trap": "trap 'touch P' EXIT; ls", "trap-debug": "trap 'touch P' DEBUG; ls", "not-found": "command_not_found_handle() { touch P; }; nosuch-x",
    "hash": "hash -p ./evil ls; ls", "alias": "shopt -s expand_aliases\nalias ls='touch P'\nls", "function": "ls() { touch P; }; ls",
    "jobs": "jobs -x touch P", "printf-time": "PS4='$(touch P)'; set -x; ls", "bash-commands": "BASH_CMDS[ls]=./evil; ls",
    "test-v-of-two": "test 1 -a -v 'a[$(touch P)]'", "wait-p": "sleep 0 & wait -n -p 'a[$(touch P)]'",
    "local-reference": "declare -n r='a[$(touch P)]'; echo $r", "coproc": "coproc touch P; wait", "exec": "exec touch P",
}
# The environment of a command decides what it does.
VARIABLES = {
    "path": "PATH=$PWD/bin:$PATH nosuch-but-here", "path-plus": "PATH+=:$PWD/bin; nosuch-but-here", "bash-env": "BASH_ENV=./evil.sh bash -c ls",
    "env-bash-env": "env BASH_ENV=./evil.sh bash -c ls", "prompt": "PS4='$(touch P)' bash -xc ls", "env-prompt": "env PS4='$(touch P)' bash -xc ls",
    "shell-options": "env SHELLOPTS=xtrace PS4='$(touch P)' bash -c ls", "home": "HOME=$PWD bash -lc ls", 
    "git-external": "GIT_EXTERNAL_DIFF='touch P;:' git diff", "git-config": "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.fsmonitor GIT_CONFIG_VALUE_0='touch P;false' git status",
    "git-parameters": "env GIT_CONFIG_PARAMETERS=\"'core.fsmonitor=touch P;false'\" git status", "exported-function": "env 'BASH_FUNC_ls%%=() { touch P; }' bash -c ls",
    "perl": "PERL5OPT=-Mevil PERL5LIB=$PWD perl -e 1", "python": "PYTHONPATH=$PWD/py python3 --version; PYTHONPATH=$PWD/py PYTHONSTARTUP=x python3 -c ''",
    "ripgrep": "RIPGREP_CONFIG_PATH=./rgrc rg one", "debug-output": "LD_DEBUG=files LD_DEBUG_OUTPUT=P ls; ls P.* && touch P", "env-file": "env -S 'touch P'",
    "ls-from-bin": "export PATH=bin:$PATH; nosuch-but-here", "cd-path": "CDPATH=bin cd . && touch P",
}
# Programs that write, or run others, by options that are easily overlooked.
PROGRAMS = {
    "sort-o": "sort -uo P a.txt", "sort-long": "sort --outp=P a.txt", "sort-joined": "sort -oP a.txt", "sort-compress": "sort -S1k --compress-program=./evil big.txt big.txt",
    "sort-key": "sort -k1 -oP a.txt", "uniq-second": "uniq a.txt P", "tree-o": "tree -o P", "tree-joined": "tree -ao P", "find-fprint": "find . -fprint P", "find-fls": "find . -fls P",
    "find-fprintf": "find . -fprintf P x", "find-exec": "find a.txt -exec touch P \\;", "find-execdir": "find . -maxdepth 0 -execdir touch P \\; ; ls P",
    "sed-w": "sed -n 'w P' a.txt", "sed-address-w": "sed -n '1,$w P' a.txt", "sed-script": "sed -n -e p -e 'w P' a.txt", "sed-new-line": "sed -n '1p\nw P' a.txt",
    "sed-e": "sed -n '1e touch P' a.txt", "sed-substitute-e": "sed -n 's/.*/touch P/e' a.txt", "sed-file": "sed -nf script.sed a.txt", "sed-regex": "sed -n '/\\//w P' slash.txt",
    "sed-in-place": "sed -n -i.P p a.txt && touch P", "xargs": "echo P | xargs touch", "xargs-file": "xargs -a names touch", "tee": "tee P < a.txt", "flock": "flock P true",
    "script": "script -qc 'touch P' /dev/null", "awk": "awk 'BEGIN{system(\"touch P\")}'", "loader": "/lib64/ld-linux-x86-64.so.2 /usr/bin/touch P", "env-split": "env -vS 'touch P'",
    "stdbuf": "stdbuf -oL touch P", "nice": "nice -n 5 touch P", "timeout": "timeout -s KILL 5 touch P", "env-directory": "env -C bin touch ../P", "env-clear": "env -i touch P",
    "git-output": "git log --output=P", "git-grep-pager": "git grep -O'touch P;:' one", "git-archive": "git archive -o P HEAD", "git-alias": "git -c alias.x='!touch P' x",
    "git-diff-output": "git diff --no-index --output=P a.txt big.txt", "ripgrep-pre": "rg --pre ./evil one", "file-compile": "file -C -m magic && touch P", "diff-program": "diff3 --diff-program=./evil a.txt a.txt a.txt",
    "time-output": "bash -c 'time ls' 2> P", "bash-rcfile": "bash --rcfile evil.sh -ic ls", "bash-file": "bash evil.sh", "bash-stdin": "bash < evil.sh", "bash-here": "bash <<< 'touch P'", "bash-pipe": "cat evil.sh | bash",
    "install": "install a.txt P", "dd": "dd if=a.txt of=P", "split": "split a.txt P && touch P", "od-is-not": "xxd a.txt P", "logsave": "cp a.txt P", "column": "column -t a.txt > P",
}
# Redirects in unusual clothes.
REDIRECTS = {
    "both": "ls &> P", "both-append": "ls &>> P", "both-old": "ls >& P", "clobber": "ls >| P", "read-write": "cat <> P", "numbered": "echo x 3> P", "named": "echo x {fd}> P",
    "error": "ls nosuch 2> P", "first": ">P ls", "only": "> P", "exec": "exec 5> P", "here-and-out": "cat <<E > P\nx\nE", "proc": "echo x > /proc/self/cwd/P", "device": "echo x > /dev/../$PWD/P",
    "descriptor": "echo x > /dev/fd/../cwd/P", "quoted": "echo x > $'P'", "loop": "for i in 1; do echo x; done > P", "group": "{ ls; } > P", "subshell": "(ls) > P", "condition": "if ls; then :; fi > P",
    "while": "while false; do :; done > P", "case": "case a in a) ls;; esac > P", "test": "[[ a ]] > P", "function": "f() { ls; } > P; f", "substitution": "cat <(echo x > P); wait; sleep 0.1", "bang": "! ls > P",
    "after-null": "ls > /dev/null > P", "space-less": "echo x>P", "descriptor-and-file": "ls 1>P 2>&1",
}
# Lines that two readers may take apart differently.
PARSING = {
    "carriage-return": "ls\r\ntouch P", "comment": "ls #'\ntouch P #'", "here-document-end": "cat <<'E'\nE\ntouch P", "tabbed-end": "cat <<-E\n\tE\ntouch P", "two-documents": "cat <<A <<B\nx\nA\ny\nB\ntouch P",
    "document-rest": "cat <<E; touch P\nE", "document-quoted-part": "cat <<E\"O\"F\n$(touch Q)\nEOF\ntouch P", "ansi": "$'\\x74ouch' P", "octal": "$'\\164ouch' P", "split-name": "to\"\"uch P", "escaped": "t\\ouch P",
    "joined-lines": "tou\\\nch P", "brace-list": "{touch,P}", "brace-group": "{ touch P;}", "background": "ls & touch P", "backquotes": "echo `touch P`", "quoted-backquotes": 'echo "`touch P`"', "nested": 'echo "$(echo "$(touch P)")"',
    "locale": 'echo $"x$(touch P)"', "default": "echo ${x:-$(touch P)}", "alternative": "echo ${PATH:+$(touch P)}", "pattern": "echo ${PATH#$(touch P)}", "replacement": "echo ${PATH/x/$(touch P)}", "error": "echo ${x:?$(touch P)}",
    "tilde": "echo ~$(touch P)", "regex": "[[ a =~ $(touch P) ]]", "case-word": "case $(touch P) in x) ;; esac", "case-pattern": "case a in $(touch P)) ;; esac", "process": "cat <(touch P)", "process-out": "echo x > >(touch P); sleep 0.2",
    "document-body": "cat <<E\n$(touch P)\nE", "document-body-arithmetic": "cat <<E\n${x:-`touch P`}\nE", "new-function-reads": "cat() { touch P; }\ncat a.txt", "function-keyword": "function echo { touch P; }; echo", "time": "time touch P", "bang": "! touch P",
    "until": "until touch P; do :; done", "select": "select x in a; do touch P; break; done <<< 1", "and-or": "false || touch P", "escaped-new-line-comment": "ls # \\\ntouch P", "eval": "eval touch P", "builtin-eval": "builtin eval touch P",
    "command-p": "command -p touch P", "variable-command": "x=touch; $x P", "array-command": "x=(touch P); \"${x[@]}\"", "glob-command": "/usr/bin/touc[h] P", "glob-name": "/usr/bin/t?uch P", "parameter-transform": "x='touch P'; ${x@E}",
    "extended-glob": "shopt -s extglob\n/usr/bin/@(touch) P", "subshell-in-arithmetic": "((x = $(touch P; echo 1)))", "escaped-dollar": 'echo "\\\\$(touch P)"', "vertical-tab": "ls;\vtouch P || touch P", "unicode-name": "ls\u2028 2>&1; touch P",
    "document-in-substitution": "echo \"$(cat <<'E'\n)\nE\ntouch P)\"", "closing-in-comment": "echo $(ls # )\ntouch P)", "case-in-substitution": "echo $(case a in a) touch P;; esac)",
}
# Files whose names a pattern turns into options or operands.
GLOBS = {
    "sort": ("sort *", ["-oP"]), "sort-long": ("sort *", ["--output=P"]), "uniq": ("uniq a.txt name*", []), "tree": ("tree *", ["-oP"]), "find": ("find *", ["-fprint", "P2"]), "find-delete": ("find a* -d*", ["-delete"]),
    "sort-in-directory": ("cd names.d && sort *", ["names.d/-oP"]), "sort-question": ("sort ?oP a.txt", ["-oP"]), "sort-bracket": ("sort [-]oP a.txt", ["-oP"]),
    "sort-braces": ("sort {-oP,a.txt}", []), "sort-variable": ("for f in *; do sort $f a.txt; done", ["-oP"]),
}


def fill(place):
    """Files that the lines use."""
    def write(name, text, mode=0o644):
        path = os.path.join(place, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, mode)

    write("a.txt", "one\n")
    write("big.txt", "line\n" * 3000)
    write("slash.txt", "/\n")
    write("names", "P\n")
    write("script.sed", "w P\n")
    write("magic", "0 string x x\n")
    write("rgrc", "--pre=./evil\n")
    write("evil", "#!/bin/sh\ntouch P\nexec cat \"$@\"\n", 0o755)
    write("evil.sh", "touch P\n")
    write(".bash_profile", "touch P\n")
    write("evil.pm", "open(F,'>P'); 1;\n")
    write("py/sitecustomize.py", "open('P','w')\n")
    write("bin/nosuch-but-here", "#!/bin/sh\ntouch P\n", 0o755)


def judge(t, line, names=(), trusted=False):
    fill(t.work)
    for name in names:
        t.write(name, "n\n")
    if "git" in line:
        t.repository(files=("README",))
        t.write("README", "changed\n")
    control = os.path.join(t.outside, "control")
    shutil.copytree(t.work, control, symlinks=True)
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": t.outside, "TERM": "dumb"}
    before = listing(control)
    try:
        subprocess.run(["bash", "-c", line], cwd=control, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=10)
    except subprocess.TimeoutExpired:
        pass
    if listing(control) == before:
        raise Failure("this line has no effect in bash itself, so it shows nothing")
    if trusted:
        t.trust()
    before = listing(t.work)
    turn = t.run(shell(line), policy=ASKS)
    after = listing(t.work)
    t.must(after == before, f"ran unasked and changed {sorted(after ^ before)[:4]}: {line!r}" if not turn.asked else f"changed though denied: {line!r}")


def listing(place):
    """Every file with its size, but for what git keeps."""
    found = set()
    for top, folders, names in os.walk(place):
        if ".git" in folders:
            folders.remove(".git")
        found.update((os.path.relpath(os.path.join(top, name), place), os.lstat(os.path.join(top, name)).st_size) for name in names)
    return found


for group, rows in {"arithmetic": ARITHMETIC, "quoted": QUOTED, "positional": POSITIONAL, "names": NAMES, "variables": VARIABLES, "redirects": REDIRECTS, "parsing": PARSING}.items():
    cases("commands", ONE, {f"{group}-{name}": line for name, line in rows.items()}, judge)
cases("commands", ONE, {f"programs-{name}": line for name, line in PROGRAMS.items()}, lambda t, line: judge(t, line, trusted="git" in line))
cases("commands", ONE, {f"globs-{name}": row for name, row in GLOBS.items()}, lambda t, row: judge(t, row[0], row[1]))


@case("commands/fair-lines-do-not-ask", ONE)
def fair(t):
    """Else a daemon that asks about everything would pass."""
    fill(t.work)
    asked = [line for line in ("ls -la", "cat a.txt | head -n 3", "grep -rn one .", "find . -name '*.txt'", "wc -l a.txt && echo done", "echo \"n$((1 + 2 * 3))\"") if t.asks(line)]
    t.must(not asked, f"asks about lines that only read: {asked}")
