# What failed in a log of go test -json, and what it printed: the tests' names first, then
# their output, and nothing of the tests that passed. The log is read twice:
#
#     awk -f failures.awk LOG LOG
#
function field(name,   pattern) {
	pattern = "\"" name "\":\"([^\"\\\\]|\\\\.)*\""
	if (!match($0, pattern)) return ""
	return substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 5)
}

# plain undoes what JSON does to a line.
function plain(text) {
	sub(/\\n$/, "", text); gsub(/\\t/, "  ", text); gsub(/\\"/, "\"", text)
	gsub(/\\u003c/, "<", text); gsub(/\\u003e/, ">", text); gsub(/\\u0026/, "\\&", text)
	return text
}

{ whose = field("Package") " " field("Test") }

FNR == NR {
	if (field("Action") != "fail") next
	bad[whose]
	if (field("Test") != "") print "failed: " plain(whose)
	next
}

!/^{/ { print; next } # of go itself
field("Action") == "build-output" || field("Action") == "output" && whose in bad {
	text = plain(field("Output"))
	if (text !~ /^(=== |ok |PASS)/) print text
}
