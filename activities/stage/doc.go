// Package stage has the type of Pawl's own steps at the stages of a call. The parts of the
// activities provide the steps, and package activities runs them around the hooks of users.
package stage
