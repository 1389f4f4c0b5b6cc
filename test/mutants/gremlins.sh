#!/usr/bin/env bash
# Runs gremlins (github.com/go-gremlins/gremlins) over the engine's packages, in
# a copy, and counts the outcomes of its mutants. Run it from any directory:
#
#     bash test/mutants/gremlins.sh [package...]      (default: timerwheel limiter shard)
#
# EXCLUDE, if set, is a regular expression of files to leave out.
#
# Gremlins v0.6.0 counts a mutant that does not compile as killed, and derives its
# time limit from the time of the coverage run. The script therefore gives it a go
# command that reports such a mutant as "not viable", and that has a time limit of
# its own. The script counts the mutants that this limit kills. Rapid does not
# shrink failures, because that takes half a minute each time. The litmus tests
# take most of the time, so they run last.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
packages=("${@:-}")
if [ -z "${packages[0]}" ]; then packages=(timerwheel limiter shard); fi
command -v gremlins >/dev/null || { echo "gremlins is not installed" >&2; exit 1; }

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir "$copy/module" "$copy/bin"
for part in go.mod go.sum clock internal limiter shard stats timerwheel; do cp -r "$root/$part" "$copy/module/"; done
printf 'unleash:\n  workers: 1\n  timeout-coefficient: 1000\n' >"$copy/module/.gremlins.yaml"

cat >"$copy/bin/go" <<'EOF'
#!/usr/bin/env bash
arguments=("$@")
try() { # TIMEOUT, and arguments that precede the others
	for i in "${!arguments[@]}"; do
		if [ "${arguments[$i]}" = -timeout ]; then arguments[$((i + 1))]=$1; fi
	done
	output=$("$GO" "${arguments[0]}" "${@:2}" "${arguments[@]:1}" 2>&1)
	status=$?
}
status=0
if [ "${arguments[0]}" = test ]; then
	arguments+=(-args -rapid.shrinktime=0s -rapid.nofailfile)
	try 20s -skip Litmus
fi
if [ $status -eq 0 ]; then try 60s; fi
printf '%s\n' "$output"
case $output in
*'[build failed]'* | *'[setup failed]'*) status=2 ;;
*'panic: test timed out'*) echo >>"$HUNG" ;;
esac
exit $status
EOF
chmod +x "$copy/bin/go"

GO=$(command -v go)
export GO HUNG="$copy/hung" GOFLAGS='-short -vet=off -trimpath'
cd "$copy/module"
for package in "${packages[@]}"; do
	: >"$HUNG"
	PATH="$copy/bin:$PATH" gremlins unleash ${EXCLUDE:+-E "$EXCLUDE"} "./$package" | tee "$copy/log" | grep -E 'LIVED|^Mutation|^Killed' || true
	echo "$package: $(grep -c ' KILLED ' "$copy/log") killed, of them $(wc -l <"$HUNG") by the time limit;" \
		"$(grep -c ' LIVED ' "$copy/log") lived, $(grep -c 'NOT COVERED' "$copy/log") not covered," \
		"$(grep -c 'NOT VIABLE' "$copy/log") do not compile"
done
