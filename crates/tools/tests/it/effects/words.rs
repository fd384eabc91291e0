//! What generated lines are made of: programs with their options, words, and lines that once got through. The lists are
//! texts, because as arrays they would be longer than all that uses them.

/// Programs, one a line: the name, options that are taken, and after `!!` options that do more. Letters that nobody
/// thought of are added by the generator.
pub(crate) const PROGRAMS: &str = r#"
ls | -la | -R | -1 | --color=auto | -I x | -H | --sort=size | -w 5 !! -L | --dereference | -LR
cat | -n | -A | -v | --number | -u
tac | -s !! -r | -b
head | -n 2 | -5 | -c 3 | --lines=1 | -q
tail | -n +2 | -3 | -c 5 | -q !! -z
wc | -l | -c | -w | -L !! --files0-from=list0 | --files0=list0 | --total=never
grep | -n | -r | -f notes.txt | -e main | -c | -d recurse | -A1 | main !! -R | -flink-file | --file=list | --exclude-from=list
egrep | -n | -i | -o | main
rg | -n | --files | -u | --hidden | -g '*.rs' | main !! --pre=./run.sh | --pre ./run.sh | -L | --follow | -f list | -z | --ignore-file=list
find | -name '*.rs' | -type f | -newer notes.txt | -maxdepth 1 | -ls | -samefile notes.txt !! -L | -newer link-file | -fprint P-find | -fprintf P-find x | -fls P-find | -delete | -exec touch P-find ; | -execdir ./run.sh ; | -ok touch P ; | -files0-from list0 | -follow
stat | -c %n | -L | -t | --printf=%n
file | -b | --mime-type | -s | -L !! -C -m magic | -m magic | -f list | -z
du | -sh | -a | -d 1 | -D !! -L | --files0-from=list0 | -X list
df | -h | -i | -T
sort | -u | -r | -k 2 | -m | -c !! -o P-sort | -oP-sort | -uo P-sort | --output=P-sort | --outp=P-sort | --compress-program=./run.sh -S 1 | -T . | --files0-from=list0 | --random-source=link-file
uniq | -c | -d | -f 1
cut | -d: -f1 | -c1-3 | -b 1 | --output-delimiter=x
tr | -d | -s | -c
basename | -a | -s .rs
dirname | -z
realpath | -e | --relative-to=src | -m !! --relative-to=link-out
readlink | -f | -n
date | -u | -d yesterday | -r notes.txt | +%F | -I | -Ins | --reference=notes.txt !! -r link-file | -f list | -s 1 | --set=1
id | -u | -n
seq | 1
expr | 1
rev
which | -a | ls
type | -a | -t | -P | ls
diff | -u | -q | --no-dereference | -N | -y | -r !! -X list | --to-file=link-file | --from-file=link-file | -l
cmp | -s | -l | -b
comm | -12 | -3 | --total
nl | -ba | -w 3
fold | -w 10 | -s
paste | -s | -d,
column | -t | -s: | -c 20
strings | -n 3 | -a | -f !! -T binary
od | -c | -An | -w | -w4 | -t x1 | -S 3 !! --traditional
hexdump | -C | -n 8 | -e '1/1 "%c"' !! -f list
tree | -a | -L 1 | -I x | --gitignore !! -o P-tree | -Lo 1 P-tree | -Po x P-tree | -l | --fromfile | -R | -H x | --infofile list
md5sum | -b | --tag !! -c | --check
sha256sum | -z | -t
cksum | -z !! -a crc
sed | -n 1p | -n '1,2p' | -n '/one/p' | -n '$p' | -s -n 2p !! -n '1w P-sed' | -n 1e | -i s/o/0/ | -n '1,$p;1w P-sed'
echo | -n | -e | 'x[$(touch P-echo)]' | x
printf | '%s\n' | '%d\n' | '%b\n' | '%*d' | '%(%F)T' | %q !! '%n' | -v PATH x
test | -f | -d | -e | -L | 1 -eq | x = | -n | a -nt | -t !! -v
[ | -f notes.txt ] # | 1 -lt 2 ] # | -n !! -v 'x[$(touch P-test)]' ] #
pwd | -P | -L
command | -v ls | -V cat | -p ls | ls !! touch P-command
true
:
python3 | --version !! -c 'open("P-py","w")'
git | --version !! status | diff --no-index link-file notes.txt
touch !! P-touch
tee !! P-tee
awk !! 'BEGIN{system("touch P-awk")}'
xargs !! touch | cat | -a list cat
./run.sh !! x
bin/ls !! x
"#;

/// Operands that are files of the workspace, public files, or text.
pub(crate) const OPERANDS: &str = r#"
notes.txt | README.md | src | src/a.rs | src/b.rs | . | ./src | d2 | 'a b' | "a b" | a\ b | ./-o | -- notes.txt | link-in | link-in/a.rs
nothing | one | two | main | 5 | 1 | +2 | - | src/*.rs | ./*.txt | n*s.txt | src/[ab].rs | src/?.rs | ./[n]otes.txt | d2/o*
around/notes.txt | src/../notes.txt | /etc/hostname | /usr/lib/os-release | /dev/null | $'notes.txt' | 'notes.txt' | no"tes".txt
<(ls src) | <(cat notes.txt) | "x$((1 + 2))" | "r$((RANDOM % 2))" | a=b | x=1 | "n$(echo x)" | "n$(< notes.txt)" | "n$x" | "n${x:-a}"
"#;

/// Operands that lead outside, or do more than they say. `@/` stands for the tree.
pub(crate) const HOSTILE: &str = r#"
link-out | link-out/.env | link-file | ../sibling/.env | ../secret.txt | ../.env | src/up/.env | src/up | a/a/.env | @/sibling/.env
@/home/.env | @/sibling | ~/.env | ~ | $HOME/.env | "$HOME/.env" | "$HOME"/* | ../* | ../*/.env | link-*/.env | */.env | */*/.env | .*
./.* | * | ./* | d*/* | src/*/.env | src/up/* | link-out/* | lin[k]-file | link-fil? | {link-file,notes.txt} | link-in/../../sibling/.env
around/around/../secret.txt | /proc/self/environ | /proc/self/cwd/../sibling/.env | /proc/self/root@/sibling/.env | /dev/fd/0
/etc/shadow | @rsp | @opts | list | list0 | rsp | sums | dangling | 'x[$(touch P-name)]' | "x[\$(touch P-x)]" | $(touch P-sub)
`touch P-tick` | "$(touch P-q)" | $_ | "$_" | $0 | "$@" | $* | ${x:-notes.txt} | "src/${x:-a.rs}" | ${!x} | ${x@P} | ${x:=y} | ${x:0:1}
${_:0:1} | $((_)) | "n$((_))" | $(( $_ )) | $((1+x)) | ${x:_} | ${a[0]} | $[1] | -o | -rf | --output=P-o | --pre=./run.sh | P-new
"n$(< link-file)" | "n$(cat link-file)" | "src/$x" | x$x | d1 | src/{a,b}.rs
"#;

/// What may stand in a calculation.
pub(crate) const CALCULATED: &str =
    "1 RANDOM SECONDS LINENO x _ $_ $1 $x ${x} ${_} $(echo) a[0] 16#f 0x1 x=1 x++ (1)";
pub(crate) const OPERATORS: &str = "+ - * / % < > == != && || & | ^ << ,";

/// Lines that got through once, or nearly. They are changed and put into others.
pub(crate) const CORPUS: &[&str] = &[
    "echo 'x[$(touch P)]'; echo \"n$((_))\"",
    "echo 'x[$(touch P)]'; echo \"n$(( $_ ))\"",
    "bash -c 'echo \"n$(($1))\"' x 'a[$(touch P)]'",
    "bash -c 'echo \"n$(($0))\"' 'a[$(touch P)]'",
    "bash -c 'echo \"n$(($@))\"' x 'a[$(touch P)]'",
    "echo 'x[$(touch P)]'; cat <<E\n$((_))\nE",
    "echo 'x[$(touch P)]'; cat <<< \"$((_))\"",
    "echo 'x[$(touch P)]'; test \"n$((_))\" = n",
    "echo 'x[$(touch P)]'; case $((_)) in 1) ls;; esac",
    "echo 'x[$(touch P)]'; [[ -n $((_)) ]]",
    "echo 'x[$(touch P)]'; [[ $_ -eq 1 ]]",
    "echo 'x[$(touch P)]'; cat < \"f$((_))\"",
    "echo 'x[$(touch P)]'; timeout 5 echo \"n$((_))\"",
    "echo 'x[$(touch P)]'; env echo \"n${x:_}\"",
    "test -v 'x[$(touch P)]'",
    "[[ -v 'x[$(touch P)]' ]]",
    "[ 1 -eq 'x[$(touch P)]' ]",
    "printf '%d\\n' 'x[$(touch P)]'",
    "unset 'x[$(touch P)]'",
    "read 'x[$(touch P)]' < notes.txt",
    "printf -v 'x[$(touch P)]' y",
    "PS4='$(touch P)' bash -xc ls",
    "set -x; PS4='$(touch P)'; ls",
    "BASH_ENV=run.sh bash -c ls",
    "wait -p 'x[$(touch P)]'",
    "mapfile -C 'touch P' -c 1 x < notes.txt",
    "tree -Lo 2 P",
    "tree -aPo x P",
    "sort -uo P notes.txt",
    "sort --outp=P notes.txt",
    "ls > P",
    "ls >&'P'",
    "ls >& 'x[$(touch P)]'",
    "cat <&'x[$(touch P)]'",
    "cat < link-file",
    "cat link-file",
    "cd .. && cat secret.txt",
    "cd link-out && cat .env",
    "cd link-in/.. && cat ../secret.txt",
    "cd a; cd a; cat .env",
    "while ls a; do cd a; cat .env; break; done",
    "cd around && cd .. && cat secret.txt",
    "(cd src/up; cat .env)",
    "cd src && cat ../../secret.txt",
    "diff d1 d2",
    "diff -r d1 d2",
    "diff d1 notes.txt",
    "grep -R KEY .",
    "grep -r KEY .",
    "rg --hidden -u KEY .",
    "find . -newer link-file",
    "find -L . -name .env",
    "ls -L d1",
    "ls -la ..",
    "strings @rsp",
    "strings -n 3 @rsp",
    "md5sum -c sums",
    "file -f list",
    "cat $(cat list)",
    "cat \"$(cat rsp)\"",
    "xargs cat < list",
    "echo ../*",
    "echo ../sibling/*",
    "[ -f ../sibling/.env ] && echo yes",
    "bash -lc ls",
    "env HOME=. bash -lc ls",
    "command -p ls; command touch P",
    "env PATH=bin ls",
    "PATH=bin:$PATH ls",
    "coproc touch P",
    "trap 'touch P' EXIT",
    "f() { touch P; }; f",
    "alias ls='touch P'; ls",
    "eval 'touch P'",
    "exec touch P",
    "time -o P ls",
    "! touch P",
    "for f in *; do cat \"$f\"; done",
    "for f in src/*; do cat \"$f\"; done",
    "select x in a; do touch P; done < notes.txt",
    "let 'x[$(touch P)]'",
    "(( x[$(touch P)] ))",
    "declare -i x='y[$(touch P)]'",
    "for ((i=0; i<1; i++)); do touch P; done",
    "stdbuf -oL touch P",
    "nice -n 5 touch P",
    "timeout 5 touch P",
    "find . -exec touch P {} +",
    "find . -name notes.txt -fprint P",
    "date -f link-file",
    "date -r link-file",
    "hexdump -f link-file notes.txt",
    "od -w link-file",
    "wc --files0-from=list0",
    "du --files0-from=list0",
    "sort --files0-from=list0",
    "grep -f link-file -r .",
    "grep -vf /dev/null link-file",
    "sed -n p link-file",
    "sed -n '1p' link-file",
    "head -n1 link-file",
    "cat {link-file,notes.txt}",
    "cat link-f*",
    "cat l?nk-f[i]le",
    "echo \"n$(<link-file)\"",
    "cat <<E\n$(cat link-file)\nE",
    "cat <<< \"$(cat link-file)\"",
    "[[ -f link-file && $(cat link-file) ]]",
    "test -e dangling && cat dangling",
    "ls 'notes.txt' #'; touch P",
    "ls \\\n; touch P",
    "echo `cat link-file`",
    "uniq notes.txt P",
    "diff --to-file=link-file notes.txt",
    "cmp link-file notes.txt -l",
    "realpath link-file",
    "cat ~+/link-file",
    "cat ~-/link-file",
];
