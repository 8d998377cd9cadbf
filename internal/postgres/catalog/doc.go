// Package catalog stores the tools that workers publish, and returns the tools that a caller may
// see. It must not read policies and kill switches itself: Rules provides them. Package postgres
// imports it.
package catalog
