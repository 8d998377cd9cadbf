// Package join waits for the results of calls that exist, for workflows that use calls as child workflows.
package join
