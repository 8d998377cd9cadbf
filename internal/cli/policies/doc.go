// Package policies has the commands that control which calls may run: policy, relations and kill.
package policies
