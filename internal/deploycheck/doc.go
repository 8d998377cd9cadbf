// Package deploycheck judges what deploys Pawl: the image, docker-compose.yml, the Helm chart and the units of systemd, with the libraries
// of Helm, Kubernetes and Compose. It runs the commands of docs/deploy.md on real servers, with the program and the files of the image.
// There is no container engine in it, so nothing here shows that an engine builds or starts the image.
//
// testdata has two resource definitions of KEDA 2.21.0 (Apache-2.0), unchanged.
//
// It judges the board by Grafana's own types and the alerts by promtool, and a Prometheus server reads real workers with the shipped rules. No
// Grafana runs.
//
// Package telemetry in it sends traces and metrics of calls to the receiver of the OpenTelemetry Collector.
//
// It is a module of its own, so that these libraries are no dependencies of Pawl. Nothing imports it.
package deploycheck
