// Package report makes a page of HTML from what Prometheus knows of Pawl: the panels of the board and the alerts, both from
// deploy/monitoring, for a span of time. The page is one file that loads nothing.
//
// Everything that Prometheus answers is text for the page, and is escaped. The package must never ask anything but Prometheus, and must
// never decide anything. Only internal/cli may import it.
package report
