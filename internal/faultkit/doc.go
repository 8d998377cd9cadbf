// Package faultkit injects faults and judges the results of calls. Its subpackages serve the fault
// tests and the command pawl chaos. No package that runs calls may import it.
package faultkit
