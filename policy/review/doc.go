// Package review holds the tools with which people work on a policy: Check and Lint find mistakes
// in it, Warnings names what makes it less safe, Explain says how a decision came about, Diff and
// Shifts compare two policies, a Backtest judges recorded calls again, and Cases are calls with the
// decisions that their author expects.
//
// It must never decide on its own: every verdict comes from package policy. It does no I/O. The
// worker, the commands and pawltest import it; activities must not.
package review
