// Package calls has the commands that start calls and show them: invoke, turn, list, show and watch.
package calls
