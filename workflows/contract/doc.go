// Package contract defines the interface between the workflow of a call and its
// activities: the name, input and output of each activity. It also registers
// activities and signs their answers. Names, inputs and outputs are recorded in
// histories: add to them, never rename or remove.
//
// It makes no decisions. Package activities implements the steps, and package
// workflows acts on their answers; neither imports the other.
package contract
