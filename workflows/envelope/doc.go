// Package envelope holds the state that all parts of a call share: data of the record,
// the deadline, the standing, the arguments, the output, the entries of hooks, and the
// trace for the record. The parts read and change this state through methods. A part
// keeps its private state itself.
//
// The package also runs the steps that every part needs: a stage of the plan, and admit
// after the answer "superseded".
package envelope
