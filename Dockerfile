# syntax=docker/dockerfile:1
#
#   docker build -t pawl .                       pawl with its built-in tools
#   docker build --target base -t pawl-base .    for FROM: an image without a program, for a worker of your own
#
# docs/deploy.md says how to run both.

FROM golang:1.26-bookworm AS files
# State is for what a container makes itself, such as the key ring of docker-compose.yml.
RUN mkdir -p /image/workspace /image/tmp /image/var/lib && install -d -m 0700 /image/var/lib/pawl

FROM scratch AS base
COPY --from=files /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=files /usr/share/zoneinfo /usr/share/zoneinfo
COPY --from=files --chown=65532:65532 /image/ /
# A number, not a name: there is no passwd file, and runAsNonRoot checks numbers.
USER 65532:65532
# File tools see the working directory and nothing above it.
WORKDIR /workspace
ENTRYPOINT ["/pawl"]
CMD ["worker"]

FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
# Static, so that the image needs no libc.
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /pawl ./cmd/pawl-server

FROM base
COPY --from=build /pawl /pawl
