// Package join waits for the results of calls whose workflows another program has started, for workflows that
// use calls as child workflows.
package join
