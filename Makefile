# coop is one static binary; coop-init, PID 1 of every sandbox, is built first
# and embedded in it.

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT  := $(shell git rev-parse --short HEAD 2>/dev/null)
INIT    := internal/launch/initbin/embed/coop-init
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)
export CGO_ENABLED = 0

.PHONY: build test test-debian demo bench bench-projects lint clean

build:
	go build -trimpath -ldflags '-s -w' -o $(INIT) ./cmd/coop-init
	go build -trimpath -ldflags '$(LDFLAGS)' -o bin/coop ./cmd/coop

# Everything: lint, unit tests with the race detector, and the suites that run
# real sandboxes, as root and as ordinary users.
test: build
	bash test/run.sh

# Packages in a real Debian, as ordinary users; needs root and a mirror.
test-debian: build
	bash test/debian.sh

demo: build
	bash test/demo.sh

# The table behind SPEC.md. N is the number of interleaved rounds.
N ?= 100
bench: build
	go run ./test/bench -coop bin/coop -n $(N)
	go run ./test/bench -coop bin/coop -images -n $(N)
	go run ./test/bench -coop bin/coop -bases -n $(N)

# Create and diff on projects of up to a million files; takes a quarter of an hour.
bench-projects: build
	go run ./test/bench -coop bin/coop -projects 1000000 -n 10

lint:
	bash test/lint.sh

clean:
	rm -rf bin $(INIT)
