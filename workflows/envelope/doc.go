// Package envelope holds the state that all parts of a call share: data of the record,
// the deadline, the state that the gate judges by, the arguments, the output, the entries
// of hooks, and the trace for the record. The parts read and change this state through
// methods. A part keeps its private state itself.
//
// The package also runs the steps that every part needs: the stages of the plan, and admit
// again if an activity answers that the record has a newer epoch.
package envelope
