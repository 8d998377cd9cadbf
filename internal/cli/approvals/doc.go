// Package approvals has the commands for approvers: approvals, approve, deny and resolve.
package approvals
