// Package devcli has the commands for development: dev and demo run servers of their
// own, bench measures, and chaos injects faults. A program for production does not have
// these commands.
package devcli
