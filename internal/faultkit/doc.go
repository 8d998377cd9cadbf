// Package faultkit breaks things on purpose and judges what became of the calls.
// Its parts serve the fault tests and the command pawl chaos; nothing that runs
// a call may import it.
package faultkit
