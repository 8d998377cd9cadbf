// Package devtools pins the programs that Pawl's development runs beside it.
//
// It is a module of its own because the Temporal CLI carries a whole Temporal server: its dependency graph must not enter
// Pawl's go.mod. The `tool` directive names the program, go.mod and go.sum fix every byte of it.
//
// It must never hold code. Nobody imports it: internal/devstack/temporalcli embeds copies of go.mod and go.sum, so that an
// installed pawl can build the same program outside a checkout, and a test there fails when the copies differ.
package devtools
