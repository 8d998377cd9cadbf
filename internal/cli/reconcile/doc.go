// Package reconcile holds the command reconcile: it compares the record with Temporal after one of them was restored from a backup, and mends
// what can be mended without running a tool.
//
// Users of the namespace can start workflows under any id, and give them any memo and search attributes. So the command takes from Temporal only
// what the history of a run on a task queue of Pawl says, checks answers by the signatures of workers, and changes a call only towards an unknown
// outcome. internal/cli imports it.
package reconcile
