module shop

go 1.19

require (
	github.com/lib/pq v1.10.7
	pawl.dev/client v0.0.0
)

// Debian's golang-github-lib-pq-dev; leave this line out to take it from the module proxy.
replace github.com/lib/pq => /usr/share/gocode/src/github.com/lib/pq

replace pawl.dev/client => ../../../clients/go
