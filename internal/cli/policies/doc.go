// Package policies has the commands that say what may run: policy, relations and kill.
package policies
