// Package stage runs the stages of a call: Pawl's own step, the hooks of users, and Pawl's
// step after them. The parts of the activities provide Pawl's own steps.
package stage
