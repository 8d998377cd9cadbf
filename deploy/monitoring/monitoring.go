package monitoring

import _ "embed"

// Board is the board in Grafana's JSON.
//
//go:embed dashboard.json
var Board []byte

// Rules are the alerts in the YAML of Prometheus.
//
//go:embed rules.yml
var Rules []byte
