// Package monitoring holds the board for Grafana and the alerts for Prometheus. `pawl report` asks the same queries.
//
// It must never read a file or a server. Only internal/report may import it.
package monitoring
