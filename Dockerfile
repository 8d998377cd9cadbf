# syntax=docker/dockerfile:1

FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
# Static, so that the image needs no libc.
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /root/image/pawl ./cmd/pawl-server
RUN mkdir -p /root/image/workspace /root/image/tmp

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /usr/share/zoneinfo /usr/share/zoneinfo
COPY --from=build --chown=65532:65532 /root/image/ /
# A number, not a name: there is no passwd file, and runAsNonRoot checks numbers.
USER 65532:65532
# File tools see the working directory and nothing above it.
WORKDIR /workspace
ENTRYPOINT ["/pawl"]
CMD ["worker"]
