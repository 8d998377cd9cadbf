// Package catalog keeps the tools that workers publish, and returns the tools that a caller
// may see. It must not read policies and kill switches itself: Rules gives them. Package
// postgres imports it.
package catalog
